// The client commands in a pseudo-terminal, as people see them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { textWidth } from '../../src/cli/terminal/table.ts';
import { createCommandLine } from '../support/commandLine.ts';
import { letAgentGo } from '../support/partials.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

const noTerminal =
  spawnSync('script', ['-q', '-e', '-c', 'true', '/dev/null']).status === 0
    ? false
    : 'util-linux with its script command is not installed';

const bell = '\u0007';

async function begin(t: TestContext, options: RunsOptions = {}, env: Record<string, string> = {}) {
  const runs = await startRuns(options, t);
  return { runs, line: createCommandLine(runs.service, t, env) };
}

/** Without what was overwritten, without colours, and with plain line breaks. */
const readable = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this sequence erases a line
  stripVTControlCharacters(text.replaceAll('\r\n', '\n').replaceAll(/[^\n]*\r\u001b\[K/g, ''));

describe('parley in a terminal', { skip: noTerminal }, () => {
  it('shows a whole turn: messages, commands, edits, and what to do next', async (t) => {
    const { line } = await begin(t);
    const message =
      'think Let me see\nplan First;Second\nrun echo hi\nreally-run exit 3\nedit a.txt new\nsay Done.';
    const { code, stdout } = await line.runInTerminal(['new', '--follow', message]);
    assert.equal(code, 0, stdout);
    const text = readable(stdout);
    for (const part of [
      /You: think Let me see/,
      /^Let me see$/m,
      /^Plan\n {2}✓ First\n {2}▸ Second$/m,
      /^\$ echo hi\n {2}hi$/m,
      /^\$ exit 3\n {2}exit code 3$/m,
      /^± edit .*a\.txt$/m,
      /^ {2}\+new$/m,
      /^Agent: Done\.$/m,
      /The agent waits for your input: parley send [0-9a-f]{32} /,
    ])
      assert.match(text, part);
    // The command, the added line and the failure have colours.
    for (const coloured of ['\u001b[36m$', '\u001b[32m+new', '\u001b[31mexit code 3'])
      assert.ok(stdout.includes(coloured), JSON.stringify(stdout));
  });

  it('shows what the agent writes and what its command prints, and prints it once', async (t) => {
    const { runs, line } = await begin(t, {}, { NO_COLOR: '1' });
    const id = await runs.create('chunks one\\n\\ntw|o|@more|\\nthree|@said\nprint first\\n|sec|@end');
    const shown = line.startInTerminal(['follow', id]);
    const letGo = (name: string) => letAgentGo(runs.service.storage, id, name);
    await until('a line and the start of the next are there', () => shown.shown().endsWith('\r\u001b[Ktwo'));
    assert.match(readable(shown.shown()), /^Agent: one\n/m);
    await letGo('more');
    await until('the next is there', () => shown.shown().endsWith('\r\u001b[Kthree'));
    await letGo('said');
    await until('the output is there', () => shown.shown().endsWith('\r\u001b[Ksec'));
    await letGo('end');
    const { code, stdout } = await shown.ended();
    assert.equal(code, 0);
    assert.match(readable(stdout), /\nAgent: one\n\ntwo\nthree\n\$ make\n {2}first\n {2}sec\n/);
  });

  it('rings the bell and shows what to do if the agent needs approval, but not for answered requests', async (t) => {
    const { runs, line } = await begin(t, { settings: { confirmation_mode: true } }, { NO_COLOR: '1' });
    const asked = await line.runInTerminal(['new', '--follow', '--id', 'c', 'ask delete everything']);
    assert.equal(asked.stdout.split(bell).length, 2);
    const staying = line.startInTerminal(['follow', '--stay', 'c']);
    await until('the bell rings', () => staying.shown().includes(bell));
    assert.match(readable(staying.shown()), /The agent needs your approval:\n.*\n {2}parley confirm c allow/);
    const { body } = await runs.service.ask('/api/conversations/c/confirm', { json: { decision: 'allow' } });
    assert.equal(body.success, true);
    await runs.turns('c', 1);
    const answered = await line.runInTerminal(['follow', 'c']);
    assert.equal(answered.code, 0);
    assert.ok(!answered.stdout.includes(bell));
  });

  it('shows no colours with NO_COLOR', async (t) => {
    const { line } = await begin(t, {}, { NO_COLOR: '1' });
    const { stdout } = await line.runInTerminal(['new', '--follow', 'run echo hi']);
    assert.match(readable(stdout), /\$ echo hi/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
    assert.doesNotMatch(stdout, /\u001b\[[\d;]*m/);
  });

  it('lets no control sequence of an agent through', async (t) => {
    const { line } = await begin(t, {}, { NO_COLOR: '1' });
    const evil = 'say a\u001b]52;c;ZXZpbA==\u0007b\u001b[2Jc\u001b]8;;http://evil\u001b\\d\u009b31me\bf';
    const { stdout } = await line.runInTerminal(['new', '--follow', evil]);
    const text = stdout.replaceAll('\r\n', '\n').replaceAll('\r\u001b[K', '\n');
    assert.match(text, /^You: say a␛\]52;c;ZXZpbA==␇b␛.*e␈f\n(?:.*\n)*Agent: a␛\]52;c;ZXZpbA==␇b␛.*e␈f$/m);
    assert.doesNotMatch(text.slice(text.indexOf('You:')), /[^\P{Cc}\n\t]/u);
  });

  it('shows what happens during the start, in a line that is overwritten', async (t) => {
    const { line, runs } = await begin(t, { settings: { agent: 'slow' } });
    const running = line.startInTerminal(['new', '--follow', '--id', 'c', 'Hello']);
    await until('the progress line', () => running.shown().includes('Starting: starting the agent …'));
    await runs.stop('c');
    const { code, stdout } = await running.ended();
    assert.equal(code, 6);
    assert.ok(stdout.includes('\r\u001b[K'));
    assert.match(readable(stdout), /The conversation has stopped: You stopped the conversation\.\n$/);
  });

  it('leaves the conversation running on Ctrl-C, and says so, 130', async (t) => {
    const { line, runs } = await begin(t);
    const running = line.startInTerminal(['new', '--follow', '--id', 'c', 'run echo now\nhang']);
    await until('it works', () => / {2}now$/m.test(readable(running.shown())));
    running.type('\u0003');
    const { code, stdout } = await running.ended();
    assert.equal(code, 130);
    assert.match(readable(stdout), /The conversation continues\. See parley follow c, or parley stop c/);
    assert.equal((await runs.info('c')).status, 'RUNNING');
  });

  it('shows how to answer an approval request, and what follows', async (t) => {
    const { line } = await begin(t, { settings: { confirmation_mode: true } });
    const asked = await line.runInTerminal(['new', '--follow', '--id', 'c', 'ask delete everything']);
    assert.equal(asked.code, 5, asked.stdout);
    assert.match(readable(asked.stdout), /The agent needs your approval:\n.*\n {2}parley confirm c allow/);
    const answered = await line.runInTerminal(['confirm', 'c', 'always', '--follow']);
    assert.equal(answered.code, 0);
    assert.match(readable(answered.stdout), /You: .*\n(?:.*\n)*Agent: the answer was always/);
  });

  it('asks before it deletes, and deletes if the answer is yes', async (t) => {
    const { line, runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    await runs.create('Something dear', { conversation_id: 'c' });
    for (const [answer, expected, left] of [
      ['n\r', 1, 1],
      ['y\r', 0, 0],
    ] as const) {
      const running = line.startInTerminal(['rm', 'c']);
      await until('the question', () => running.shown().includes('[y/N]'));
      assert.match(readable(running.shown()), /^ {2}Something dear {2}c\n/);
      running.type(answer);
      assert.equal((await running.ended()).code, expected);
      const { body } = await runs.service.ask('/api/conversations');
      assert.equal(body.results.length, left);
    }
  });

  it('asks for an API key, and does not show it', async (t) => {
    const { line, runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const running = line.startInTerminal(['settings', 'set', 'llm_api_key']);
    await until('the question', () => running.shown().includes('llm_api_key: '));
    running.type('typed-unseen\r');
    const { code, stdout } = await running.ended();
    assert.deepEqual([code, stdout.includes('typed')], [0, false]);
    assert.equal((await runs.service.ask('/api/settings')).body.llm_api_key_set, true);
    const refused = await line.runInTerminal(['settings', 'set', 'language']);
    assert.deepEqual([refused.code, /The value is missing/.test(refused.stdout)], [2, true]);
  });

  it('shows diffs in colour', async (t) => {
    const { line, runs } = await begin(t);
    const id = await runs.create('edit a.txt new');
    await runs.turns(id, 1);
    const diff = await line.runInTerminal(['diff', id]);
    assert.ok(diff.stdout.includes('\u001b[32m+new'), JSON.stringify(diff.stdout));
  });

  it('lists conversations so that every line fits, with short ids that work', async (t) => {
    const { line, runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const title = 'A title that is far too long for any terminal, however wide it may be '.repeat(3);
    for (const text of [title, '日本語のとても長いタイトルです。'.repeat(8)])
      await runs.service.ask('/api/conversations', {
        json: { initial_user_msg: text, repository: 'acme/a-repository-with-a-long-name' },
      });
    const { body } = await runs.service.ask('/api/conversations');
    for (const columns of [60, 80, 120]) {
      const { stdout } = await line.runInTerminal(['ls'], { columns });
      const lines = readable(stdout).trimEnd().split('\n');
      assert.equal(lines.length, 3, stdout);
      assert.match(lines[0] ?? '', /^ID +STATUS +CREATED +REPOSITORY +TITLE$/);
      for (const shown of lines) assert.ok(textWidth(shown) <= columns, `${columns}: ${shown}`);
      const [short = ''] = lines[1]?.split(' ') ?? [];
      const [newest] = body.results;
      assert.ok(short.length < 32 && newest.conversation_id.startsWith(short), short);
      assert.match(lines[1] ?? '', / now .*…/);
      assert.equal((await line.run(['show', short])).code, 0);
    }
  });

  it('asks for an API key at the login, and does not show it', async (t) => {
    const { runs } = await begin(t, { env: { PARLEY_ROLE: 'api' } });
    const { url, key, storage } = runs.service;
    const env = { PARLEY_URL: '', PARLEY_DATA_DIR: '', XDG_CONFIG_HOME: storage.dataDir };
    const line = createCommandLine(runs.service, t, env);
    const running = line.startInTerminal(['login', url]);
    await until('the question', () => running.shown().includes('API key for'));
    running.type(`${key}\r`);
    const { code, stdout } = await running.ended();
    assert.deepEqual([code, stdout.includes(key)], [0, false]);
    assert.match(readable(stdout), /You are logged in to http:\S+ as owner\./);
  });
});
