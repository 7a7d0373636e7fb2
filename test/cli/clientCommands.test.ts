// The client commands with a service that runs conversations, as programs use them: in pipes.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commands } from '../../src/cli/commands.ts';
import { handlers } from '../../src/cli/handlers.ts';
import { parseCommandLine } from '../../src/cli/syntax/parse.ts';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { letAgentGo } from '../support/partials.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

async function begin(t: TestContext, options: RunsOptions = {}, env: Record<string, string> = {}) {
  const runs = await startRuns(options, t);
  return { runs, service: runs.service, line: createCommandLine(runs.service, t, env) };
}

/** Starts a server that answers all requests with the same JSON. */
async function startServer(t: TestContext, answer: () => unknown): Promise<string> {
  const server = createServer((_, response) => response.end(JSON.stringify(answer())));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const image = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('parley new', () => {
  it('starts a conversation and prints its id, or with --json the answer of the service', async (t) => {
    const { line, runs } = await begin(t);
    const text = await line.run(['new', 'say', 'Hello']);
    assert.match(text.stdout, /^[0-9a-f]{32}\n$/);
    assert.match(text.stderr, /^Follow it with: parley follow [0-9a-f]{32}\n$/);
    const { code, stdout } = await line.run(['new', '--json', 'say', 'Hello']);
    assert.equal(code, 0);
    const [made] = jsonLines(stdout);
    assert.deepEqual([made.status, made.conversation_status], ['ok', 'STARTING']);
    assert.deepEqual(await runs.turns(made.conversation_id, 1), ['Hello']);
  });

  it('reads the message from standard input, and sends images, MCP servers and instructions', async (t) => {
    const { line, service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const file = (name: string, text: string | Buffer) => {
      writeFileSync(join(service.storage.dataDir, name), text);
      return join(service.storage.dataDir, name);
    };
    const words = [
      ...['new', '--repo', 'acme/shop', '--branch', 'dev', '--provider', 'gitlab', '--id', 'mine'],
      ...['--image', file('a.png', image), '--image', 'https://a.test/b.png', '--instructions', 'Be brief'],
      ...['--mcp', file('mcp.json', '{"shttp_servers":["https://tools.test/mcp"]}')],
    ];
    for (let i = 0; i < 2; i++) assert.equal((await line.run(words, 'Look\nat this\n')).code, 0);
    const { body } = await service.ask('/api/conversations');
    const [{ selected_repository, selected_branch, git_provider, conversation_id }] = body.results;
    assert.deepEqual(
      [body.results.length, conversation_id, selected_repository, selected_branch, git_provider],
      [1, 'mine', 'acme/shop', 'dev', 'gitlab'],
    );
    const { body: log } = await service.ask('/api/conversations/mine/events?limit=1');
    const { content, image_urls } = log.events[0].args;
    assert.equal(content, 'Look\nat this');
    assert.deepEqual(image_urls, [
      `data:image/png;base64,${image.toString('base64')}`,
      'https://a.test/b.png',
    ]);
  });

  it('follows until the agent waits, with --json every event on a line, exit code 0', async (t) => {
    const { line, runs } = await begin(t);
    const { code, stdout, stderr } = await line.run(['run', '--json', 'run echo hi\nsay Done']);
    assert.equal(code, 0, stderr);
    const [made, ...events] = jsonLines(stdout);
    assert.deepEqual(events, await runs.events(made.conversation_id));
    assert.equal(events.at(-1)?.extras?.['agent_state'], 'awaiting_user_input');
  });

  it('ends with 1 if the agent fails, and with 6 if somebody stops the conversation', async (t) => {
    const { line, runs } = await begin(t);
    assert.equal((await line.run(['new', '--follow', 'crash'])).code, 1);
    const running = line.start(['new', '--follow', '--json', '--id', 'c', 'hang']);
    await until('it works', async () => running.shown().includes('"running"'));
    await runs.stop('c');
    assert.equal((await running.ended()).code, 6);
  });

  it('ends with 1 if a turn ends with an error, and with 0 after the next one that succeeds', async (t) => {
    const { line } = await begin(t);
    const failed = await line.run(['new', '--follow', '--id', 'c', 'error the model is away']);
    assert.equal(failed.code, 1, failed.stdout);
    assert.equal((await line.run(['send', '--follow', 'c', 'say fine'])).code, 0);
  });

  it('refuses usage errors, exit code 2, and says what to do', async (t) => {
    const { line, service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const text = join(service.storage.dataDir, 'text.txt');
    writeFileSync(text, 'no image');
    const bad: [string[], RegExp][] = [
      [['new'], /message is empty/],
      [['new', 'x', '--image', text], /is not a PNG, JPEG, GIF or WebP image/],
      [['new', 'x', '--provider', 'nonsense'], /--provider must be github, gitlab/],
      [['new', 'x', '--nonsense'], /nonsense/],
    ];
    for (const [words, message] of bad) {
      const { code, stderr } = await line.run(words);
      assert.equal(code, 2, `${words.join(' ')}: ${stderr}`);
      assert.match(stderr, message);
      assert.match(stderr, /^parley: [^\n]+\n$/);
    }
    assert.deepEqual((await service.ask('/api/conversations')).body.results, []);
  });

  it('takes an agent and a model for this conversation alone', async (t) => {
    const { service, line } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const begun = await line.run(['new', 'Hello', '--agent', 'builtin', '--model', 'ollama/qwen3', '--json']);
    assert.equal(begun.code, 0, begun.stderr);
    const id = JSON.parse(begun.stdout).conversation_id as string;
    const { body } = await service.ask(`/api/conversations/${id}`);
    assert.deepEqual([body.agent, body.llm_model], ['builtin', 'ollama/qwen3']);
    assert.equal((await service.ask('/api/settings')).body.agent, 'fake');
    const unknown = await line.run(['new', 'Hello', '--agent', 'nobody']);
    assert.deepEqual([unknown.code, /agent must be one of .*codex/.test(unknown.stderr)], [2, true]);
    const keyless = await line.run(['new', 'Hello', '--agent', 'builtin', '--model', 'xai/grok-4']);
    assert.deepEqual([keyless.code, /parley provider-keys set xai/.test(keyless.stderr)], [2, true]);
  });

  it('says at the first network error that it retries', async (t) => {
    const { service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const { startCutProxy } = await import('../support/cutProxy.ts');
    const proxy = await startCutProxy(service.url, t);
    proxy.refuse(true);
    const running = createCommandLine(service, t, { PARLEY_URL: proxy.url }).start([
      'new',
      '--json',
      'Hello',
    ]);
    await until('a second try', () => proxy.made() >= 2);
    proxy.refuse(false);
    const { code, stderr } = await running.ended();
    assert.deepEqual([code, /^The service cannot be reached.* Retrying …\n$/.test(stderr)], [0, true]);
  });
});

describe('parley change', () => {
  it('changes the agent and the model of a conversation, and show tells them', async (t) => {
    const { service, line } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const { body } = await service.ask('/api/conversations', { json: {} });
    const id = body.conversation_id as string;
    const changed = await line.run(['change', id, '--agent', 'builtin', '--model', 'ollama/qwen3']);
    assert.deepEqual([changed.code, /^Changed from its next turn on: /.test(changed.stdout)], [0, true]);
    assert.match((await line.run(['show', id])).stdout, /Agent +builtin\nModel +ollama\/qwen3\n/);
    assert.equal((await line.run(['change', id, '--agent', 'default', '--model', 'default'])).code, 0);
    const { body: info } = await service.ask(`/api/conversations/${id}`);
    assert.deepEqual([info.agent, info.llm_model], ['fake', null]);
    assert.equal((await line.run(['change', id, '--confirm', 'on'])).code, 0);
    assert.match((await line.run(['show', id])).stdout, /Approval +needed\n/);
    assert.equal((await line.run(['change', id, '--confirm', 'default'])).code, 0);
    assert.doesNotMatch((await line.run(['show', id])).stdout, /Approval/);
    const made = await line.run(['new', '--confirm', 'off', '--json', 'hello']);
    const { conversation_id: other } = JSON.parse(made.stdout);
    assert.equal((await service.ask(`/api/conversations/${other}`)).body.confirmation_mode, false);
    const nothing = await line.run(['change', id]);
    assert.deepEqual([nothing.code, /--agent or a --model/.test(nothing.stderr)], [2, true]);
    assert.equal((await line.run(['change', 'none-such', '--agent', 'fake'])).code, 3);
  });
});

describe('parley follow', () => {
  it('prints only events as JSON, and with --partials also what is being written', async (t) => {
    const { runs, line } = await begin(t);
    const id = await runs.create('chunks one\\n|two|@end');
    const [events, all] = [
      line.start(['follow', id, '--json']),
      line.start(['follow', id, '--json', '--partials']),
    ];
    await until('it is there', () => all.shown().includes('two"}'));
    await until('the other one follows', () => events.shown().includes('"running"'));
    await letAgentGo(runs.service.storage, id, 'end');
    const [printed, printedAll] = [await events.ended(), await all.ended()];
    assert.ok(jsonLines(printed.stdout).every(({ id: number }) => Number.isInteger(number)));
    const partials = jsonLines(printedAll.stdout).filter(({ of }) => of !== undefined);
    assert.equal(partials[0]?.['from'], 0);
    assert.deepEqual(
      jsonLines(printedAll.stdout).filter(({ of }) => of === undefined),
      jsonLines(printed.stdout),
    );
  });
});

describe('a client command with a usage error', () => {
  const cases: [string, string[], RegExp][] = [
    ['new', ['x', '--image', '/nowhere.png'], /cannot be read: ENOENT/],
    ['new', ['x', '--mcp', import.meta.filename], /is not JSON/],
    ['list', ['--limit', '0'], /--limit/],
    ['login', ['nonsense'], /The URL must be an http or https URL/],
    ['login', ['https://u:p@a.test'], /The URL must be an http or https URL/],
    ['login', ['--name', 'local', 'https://a.test'], /"local" is the service on this machine/],
    ['login', ['--name', '../x', 'https://a.test'], /--name must have/],
  ];

  it('says what is wrong before it sends a request', async () => {
    for (const [name, argv, message] of cases) {
      const command = commands.find((known) => known.name === name);
      assert.ok(command !== undefined);
      const handler = await handlers[name]?.();
      const parsed = parseCommandLine(command, argv);
      assert.ok(parsed !== 'help');
      await assert.rejects(async () => handler?.(parsed), { name: 'RefusalError', message }, argv.join(' '));
    }
  });
});

describe('parley list, show, stop, start and rm', () => {
  it('find conversations by the start of their id, exit codes 2 and 3', async (t) => {
    const { line, service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    for (const conversation_id of ['abc-1', 'abc-2', 'abd'])
      await service.ask('/api/conversations', {
        json: { conversation_id, initial_user_msg: conversation_id },
      });
    const shown = await line.run(['show', 'abd', '--json']);
    assert.equal(jsonLines(shown.stdout)[0].conversation_id, 'abd');
    assert.equal(jsonLines((await line.run(['show', 'abc-2', '--json'])).stdout)[0].title, 'abc-2');
    const many = await line.run(['show', 'ab']);
    assert.deepEqual(
      [
        many.code,
        /3 ids start with these characters, such as abd, abc-2, abc-1\. Type more/.test(many.stderr),
      ],
      [2, true],
    );
    assert.equal((await line.run(['show', 'b'])).code, 3);
    assert.equal((await line.run(['show', '../x'])).code, 3);
    assert.equal((await line.run(['stop', 'abc-1', 'abd'])).code, 0);
    const listed = jsonLines(
      (await line.run(['list', '--json', '--status', 'STOPPED', '--limit', 'all'])).stdout,
    );
    assert.deepEqual(listed.map((info) => info.conversation_id).sort(), ['abc-1', 'abd']);
    assert.match((await line.run(['resume', 'abd'])).stdout, /^Resumed: abd {2}abd\n$/);
    assert.equal((await line.run(['rm', 'abc-1', 'nonsense'])).code, 3);
    const short = await line.run(['rm', 'abd', 'abc-1', 'abc-']);
    assert.deepEqual([short.code, /2 ids start with/.test(short.stderr)], [2, true]);
    await service.ask('/api/conversations', { json: { conversation_id: 'long-enough' } });
    assert.match((await line.run(['rm', 'long'])).stderr, /"long" is too short: type at least 6 characters/);
    assert.equal((await service.ask('/api/conversations')).body.results.length, 4);
    const removed = await line.run(['rm', '--json', 'abc-1', 'abd', 'abc-1', 'long-en']);
    assert.deepEqual(
      jsonLines(removed.stdout),
      ['abc-1', 'abd', 'long-enough'].map((conversation_id) => ({ conversation_id, success: true })),
    );
    const { body } = await service.ask('/api/conversations');
    assert.deepEqual(
      body.results.map((info: { conversation_id: string }) => info.conversation_id),
      ['abc-2'],
    );
  });

  it('print text in a pipe, with whole ids and titles and with control characters made visible', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('say bad \u001b[31mred\u001b]0;title\u0007 \u009b2J\u202e words');
    await runs.turns(id, 1);
    await runs.service.ask(`/api/conversations/${id}`, {
      method: 'PATCH',
      json: { title: 'A \u001b[2Jtitle' },
    });
    const list = await line.run(['ls']);
    assert.match(list.stdout, /^ID +STATUS +CREATED +TITLE\n/);
    assert.match(
      list.stdout,
      new RegExp(`${id} +waiting for input +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +A ␛\\[2Jtitle`),
    );
    const show = await line.run(['show', id]);
    assert.match(show.stdout, /^Status +waiting for input$/m);
    assert.match(show.stdout, /bad ␛\[31mred␛\]0;title␇ \\u\{9b\}2J\\u\{202e\} words/);
    const logs = await line.run(['logs', id]);
    assert.match(logs.stdout, /^Agent: bad /m);
    for (const { stdout } of [list, show, logs, await line.run(['follow', id])])
      assert.doesNotMatch(stdout, /[^\P{Cc}\n\t]|\u202e/u);
    // JSON has them escaped.
    const { stdout } = await line.run(['follow', id, '--json']);
    assert.doesNotMatch(stdout, /[^\P{Cc}\n\t]|\u202e/u);
    assert.ok(stdout.includes('\\u001b[31m') && stdout.includes('\\u202e'));
  });
});

describe('parley send, confirm and follow', () => {
  it('show only what follows the message, and end if there is nothing to follow', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('say One');
    await runs.turns(id, 1);
    const { code, stdout } = await line.run(['send', id, '--follow', '--json', 'say Two']);
    assert.equal(code, 0);
    const events = jsonLines(stdout);
    assert.equal(events[0].args.content, 'say Two');
    assert.ok(events.some(({ source, args }) => source === 'agent' && args?.content === 'Two'));
    assert.ok(!stdout.includes('One'));
    const sent = await line.run(['send', id, '--json'], 'say Three');
    assert.deepEqual(jsonLines(sent.stdout), [{ conversation_id: id, success: true }]);
    assert.deepEqual(await runs.turns(id, 3), ['One', 'Two', 'Three']);
    const tail = await line.run(['follow', id, '--json', '--from', String(events.at(-1).id + 1)]);
    assert.equal(jsonLines(tail.stdout)[0].args.content, 'say Three');
    const nothing = await line.run(['follow', id, '--json', '--from', '10000']);
    assert.deepEqual([nothing.code, nothing.stdout], [0, '']);
  });

  it('report an approval request, exit code 5, and answer it', async (t) => {
    const { line, runs } = await begin(t, { settings: { confirmation_mode: true } });
    const asked = await line.run(['new', '--follow', '--id', 'c', 'ask delete everything']);
    assert.equal(asked.code, 5, asked.stderr);
    assert.match(
      asked.stdout,
      /needs your approval:\n {2}.*delete everything\n {2}parley confirm c allow --question \d+ /,
    );
    assert.match((await line.run(['show', 'c'])).stdout, /needs approval/);
    assert.equal((await line.run(['follow', 'c'])).code, 5);
    const wrong = await line.run(['confirm', 'c', 'allow', '--question', '0']);
    assert.deepEqual([wrong.code, /^parley: /.test(wrong.stderr)], [1, true]);
    const answered = await line.run(['confirm', 'c', 'reject', '--follow']);
    assert.equal(answered.code, 0, answered.stderr);
    assert.match(answered.stdout, /the answer was no/);
    assert.equal((await line.run(['confirm', 'c', 'allow'])).code, 1);
    assert.equal(runs.service.logs().includes('request failed'), false);
  });

  it('reconnect when the connection breaks, and miss nothing', async (t) => {
    const { startCutProxy } = await import('../support/cutProxy.ts');
    const { runs, service } = await begin(t);
    const proxy = await startCutProxy(service.url, t);
    const line = createCommandLine(service, t, { PARLEY_URL: proxy.url });
    const running = line.start(['new', '--follow', '--json', '--id', 'c', 'tick 5 100\nsay End']);
    await until('it works', () => running.shown().includes('"running"'));
    proxy.cut();
    const { code, stdout, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /connection is lost\. Reconnecting.*Reconnected/s);
    assert.deepEqual(jsonLines(stdout).slice(1), await runs.events('c'));
  });

  it('continue with --stay until a signal ends them, 130 or 143', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('say One');
    const running = line.start(['follow', '--stay', '--json', id]);
    await until('the first turn', () => running.shown().includes('awaiting_user_input'));
    await runs.say(id, 'say Two');
    await until('the second turn', () => running.shown().includes('"Two"'));
    const other = line.start(['follow', '--stay', '--json', id]);
    await until('the other, too', () => other.shown().includes('"Two"'));
    other.signal('SIGTERM');
    assert.equal((await other.ended()).code, 143);
    running.signal('SIGINT');
    const { code, stderr } = await running.ended();
    assert.equal(code, 130);
    assert.match(stderr, /The conversation continues\. See parley follow/);
    assert.equal((await runs.info(id)).status, 'RUNNING');
  });
});

describe('parley upload', () => {
  it('prints the paths in the workspace, and tells the agent with a message', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const folder = mkdtempSync(join(tmpdir(), 'parley-upload-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [first, second] = [join(folder, 'a.txt'), join(folder, 'b c.txt')];
    writeFileSync(first, 'one');
    writeFileSync(second, 'two');
    const done = await line.run(['upload', id, first, second]);
    assert.deepEqual([done.code, done.stdout], [0, '/workspace/a.txt\n/workspace/b c.txt\n']);
    assert.equal((await line.run(['cat', id, '/workspace/b c.txt'])).stdout, 'two');
    const sent = await line.run(['upload', id, first, '-m', 'Read it.', '--json']);
    assert.deepEqual(jsonLines(sent.stdout)[0].files, [{ name: 'a.txt', path: '/workspace/a.txt' }]);
    assert.match(
      (await runs.turns(id, 2)).at(-1) ?? '',
      /Read it\.\n\[The user attached these files:\]\n- .*a\.txt/,
    );
    assert.equal((await line.run(['upload', id, join(folder, 'none.txt')])).code, 2);
    assert.equal((await line.run(['upload', id, folder])).code, 2);
    const odd = join(folder, ' odd.txt');
    writeFileSync(odd, '');
    const skipped = await line.run(['upload', id, odd, first]);
    assert.equal(skipped.code, 1);
    assert.match(skipped.stderr, /odd\.txt was skipped: /);
  });
});

describe('parley feedback export', () => {
  it('prints a line of JSON for each', async (t) => {
    const { line, service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const { body } = await service.ask('/api/conversations', { json: {} });
    const path = `/api/conversations/${body.conversation_id}/feedback`;
    for (const polarity of ['positive', 'negative']) await service.ask(path, { json: { polarity } });
    const { code, stdout } = await line.run(['feedback', 'export']);
    assert.equal(code, 0);
    assert.deepEqual(
      jsonLines(stdout).map(({ polarity }) => polarity),
      ['positive', 'negative'],
    );
  });
});

describe('parley diff', () => {
  it('shows changes as a patch for git, as names, and as JSON', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('edit a.txt one\nedit sub.txt two');
    await runs.turns(id, 1);
    const run = async (...words: string[]) => (await line.run(['diff', id, ...words])).stdout;
    assert.match(
      await run(),
      /\+\+\+ b\/a\.txt\n@@ -0,0 \+1,1 @@\n\+one\n\\ No newline at end of file\ndiff --git/,
    );
    assert.equal(await run('--names'), 'A a.txt\nA sub.txt\n');
    assert.deepEqual(jsonLines(await run('--json', 'sub.txt')), [
      { status: 'A', path: 'sub.txt', modified: 'two', original: '' },
    ]);
    assert.equal(await run('nothing/here'), '');
    assert.deepEqual(
      jsonLines((await line.run(['files', id, '--json'])).stdout).filter((name) => /txt$/.test(name)),
      ['a.txt', 'sub.txt'],
    );
    assert.equal((await line.run(['cat', id, 'a.txt'])).stdout, 'one');
    assert.equal((await line.run(['cat', id, 'none.txt'])).code, 3);
    assert.equal((await line.run(['rename', id, 'Two', 'files'])).code, 0);
    assert.equal((await runs.service.ask(`/api/conversations/${id}`)).body.title, 'Two files');
  });

  it('leaves out a binary file, says so, and ends with 1', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create("really-run printf '\\377' >a.bin; echo text >b.txt");
    await runs.turns(id, 1);
    const { code, stdout, stderr } = await line.run(['diff', id]);
    assert.equal(code, 1);
    assert.match(stderr, /^a\.bin is left out: The file is not UTF-8 text/);
    assert.match(stdout, /^diff --git a\/b\.txt b\/b\.txt\n.*\+text\n$/s);
  });
});

describe('client commands', () => {
  it('end with 4 if there is no service or no API key, or if the key is refused, and say what to do', async (t) => {
    const { service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const run = async (env: Record<string, string>) => {
      const { code, stderr } = await createCommandLine(service, t, env).run(['list']);
      return [code, stderr] as const;
    };
    const cases: [Record<string, string>, number, RegExp][] = [
      [{ PARLEY_URL: 'http://127.0.0.1:9' }, 4, /cannot be reached.*127\.0\.0\.1:9.*parley serve/],
      [{ PARLEY_KEY: 'wrong-key' }, 4, /refuses the API key/],
      [{ PARLEY_DATA_DIR: join(service.storage.dataDir, 'none') }, 4, /There is no API key .*PARLEY_KEY/],
      [{ PARLEY_URL: 'nonsense' }, 2, /PARLEY_URL must be/],
      [{ PARLEY_URL: '', PORT: 'nonsense' }, 2, /PORT must be/],
      [{ PARLEY_KEY: 'schlüssel-€' }, 2, /cannot be sent/],
    ];
    for (const [env, code, message] of cases) {
      const [got, stderr] = await run(env);
      assert.equal(got, code, stderr);
      assert.match(stderr, message);
    }
  });

  it('make control characters visible wherever a service sends them', async (t) => {
    const evil = 'x\u001b]0;title\u0007\u202e\u{e0041}';
    const usage = { requests: evil, input_tokens: evil, output_tokens: evil, cost_usd: 0 };
    const info = {
      ...{
        conversation_id: evil,
        title: evil,
        status: 'STOPPED',
        stop_reason: { code: evil, message: evil },
      },
      ...{ created_at: evil, last_updated_at: evil, selected_repository: evil, selected_branch: null, usage },
    };
    const lie = { ...info, message: evil, events: [], results: [info], next_page_id: null };
    const url = await startServer(t, () => lie);
    const line = createCommandLine({ url, storage: { dataDir: '/nowhere' } as never }, t, {
      PARLEY_KEY: 'k',
    });
    const commands = [['show', 'x'], ['list'], ['new', 'x'], ['send', 'x', 'x'], ['stop', 'x']];
    for (const words of commands) {
      const { stdout, stderr } = await line.run(words);
      assert.match(stdout, /x␛]0;title␇/, `${words}: ${stderr}`);
      assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n\t]|[\u202e\u{e0041}]/u);
    }
  });

  it("send the owner's API key only to this machine", async (t) => {
    const { service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const line = createCommandLine(service, t, { PARLEY_URL: 'http://parley.invalid' });
    const { code, stderr } = await line.run(['list']);
    assert.deepEqual(
      [code, /There is no API key for http:\/\/parley\.invalid: set PARLEY_KEY, or log in/.test(stderr)],
      [4, true],
    );
    assert.ok(!stderr.includes(readFileSync(join(service.storage.dataDir, 'owner.key'), 'utf8').trim()));
  });
});

describe('parley keys with PARLEY_URL', () => {
  it('creates, lists and revokes keys of that service, and creates no local database', async (t) => {
    const { service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const folder = join(service.storage.dataDir, 'none');
    const line = createCommandLine(service, t, { PARLEY_KEY: service.key, PARLEY_DATA_DIR: folder });
    const made = await line.run(['keys', 'create', '--name', 'laptop', '--user', 'ada', '--expires', '1d']);
    assert.equal(made.code, 0, made.stderr);
    assert.equal((await service.ask('/api/settings', { key: made.stdout.trim() })).status, 200);
    const own = await line.run(['keys', 'create', '--scope', 'settings:read']);
    const first = jsonLines((await line.run(['keys', 'list', '--json'])).stdout).at(-1);
    assert.deepEqual([first.user, first.scopes], ['owner', ['settings:read']]);
    assert.equal((await line.run(['keys', 'revoke', first.id])).code, 0);
    assert.equal((await service.ask('/api/settings', { key: own.stdout.trim() })).status, 401);
    assert.equal(existsSync(folder), false);
  });
});

describe('parley settings with PARLEY_URL', () => {
  it('reads and writes over HTTP, for the user of the API key, and reads keys only from standard input', async (t) => {
    const { service } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const { body: made } = await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } });
    const env = { PARLEY_KEY: made.key, PARLEY_DATA_DIR: join(service.storage.dataDir, 'none') };
    const line = createCommandLine(service, t, env);
    assert.equal((await line.run(['settings', 'set', 'llm_model', 'openai/x'])).code, 0);
    assert.equal((await line.run(['settings', 'set', 'llm_api_key'], 'a-model-key\n')).code, 0);
    assert.equal((await line.run(['settings', 'get', 'llm_model'])).stdout, '"openai/x"\n');
    const { body } = await service.ask('/api/settings', { key: made.key });
    assert.deepEqual([body.llm_model, body.llm_api_key_set], ['openai/x', true]);
    assert.equal((await service.ask('/api/settings')).body.llm_model, null);
    assert.equal((await line.run(['settings', 'set', 'max_iterations', '0'])).code, 2);
    // --user means the local database.
    assert.equal((await line.run(['settings', 'get', '--user', 'ada'])).code, 2);
    assert.match((await line.run(['settings', 'import', 'x.json'])).stderr, /unset PARLEY_URL/);
  });
});
