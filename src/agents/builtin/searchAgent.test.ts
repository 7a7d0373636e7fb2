// Searches of a sub-agent: what it may do, what becomes of its answer, and its limits.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  type AgentBenchOptions,
  startAgentBench,
  startRawBench,
  temporary,
} from '../../../test/support/agentBench.ts';
import {
  calling,
  type RawAnswer,
  type RawBody,
  type RawCall,
  refusing,
  saying,
} from '../../../test/support/rawModel.ts';
import { until } from '../../../test/support/until.ts';
import { protocolBases, protocols } from '../../models/protocols.ts';

const task = 'Where is the port set?';
const searching = (question = task): RawCall => call('search_agent', { task: question });

function call(name: string, input: object): RawCall {
  return { name, arguments: JSON.stringify(input) };
}

const isSearch = ({ messages }: RawBody): boolean => /^You search for/.test(messages[0].content);

const results = ({ messages }: RawBody): string[] =>
  messages.filter(({ role }: RawBody) => role === 'tool').map(({ content }: RawBody) => content);

/** The parent requests these calls and then says "Done."; the sub-agents get the answers of `search`. */
async function open(
  t: TestContext,
  calls: readonly RawCall[],
  search: (body: RawBody) => RawAnswer,
  options: AgentBenchOptions = {},
) {
  const parent = (body: RawBody) => (results(body).length === 0 ? calling(calls) : saying('Done.'));
  const answer: RawAnswer = (response, body) => (isSearch(body) ? search : parent)(body)(response, body);
  const bench = await startRawBench(t, [answer], options);
  return {
    ...bench,
    /** The requests of sub-agents. */
    searches: () => bench.bodies.filter(isSearch),
    /** The results in the last request of the parent. */
    found: () => results(bench.bodies.findLast((body) => !isSearch(body))),
  };
}

/** Answers that wait until the test sends them. */
function holdAnswers() {
  const held: ServerResponse[] = [];
  const hold: RawAnswer = (response) => void held.push(response);
  const release = (answer: RawAnswer) => {
    for (const response of held.splice(0)) answer(response, undefined);
  };
  return { held, hold, release };
}

describe('search_agent', () => {
  for (const protocol of protocols)
    it(`returns the answer of the sub-agent, and nothing that it has read, in ${protocol}`, async (t) => {
      const steps = [
        { call: { tool: 'find_files', input: { glob: '*.ts' } } },
        { call: { tool: 'read_file', input: { path: 'server.ts' } } },
        { say: 'In server.ts:1.' },
      ];
      const script = [{ delegate: { task, steps } }, { say: 'It is in server.ts.' }];
      const current = { protocol, base: protocolBases[protocol] };
      const bench = await startAgentBench(t, { script, current });
      writeFileSync(join(bench.cwd, 'server.ts'), 'const port = 4711;\n');
      await bench.open();
      assert.equal(await bench.prompt('go'), 'end_turn');
      assert.equal(bench.said(), 'It is in server.ts.');
      const requests = bench.model.exchanges.map(({ request }) => request);
      const searches = requests.filter(({ prompt }) => prompt.includes(task));
      assert.equal(searches.length, 3);
      assert.match(searches[2]?.results[1] ?? '', /port = 4711/);
      assert.deepEqual(
        searches[0]?.tools.map(({ name }) => name),
        ['read_file', 'search_text', 'find_files'],
      );
      const [found = '', ...more] = requests.at(-1)?.results ?? [];
      assert.deepEqual(more, []);
      assert.match(found, /In server\.ts:1\./);
      assert.doesNotMatch(found, /4711/);
      const [ended] = bench.ended();
      assert.equal(ended?.status, 'completed');
      assert.deepEqual(ended?.content, [
        { type: 'content', content: { type: 'text', text: 'In server.ts:1.' } },
      ]);
    });

  it('asks for approval of the search, but not of what the sub-agent reads', async (t) => {
    const steps = [{ call: { tool: 'read_file', input: { path: 'a' } } }, { say: 'It is empty.' }];
    const script = [{ delegate: { task, steps } }, { say: 'Done.' }];
    const bench = await startAgentBench(t, { script });
    writeFileSync(join(bench.cwd, 'a'), '');
    await bench.open();
    await bench.prompt('go');
    const [asked, ...more] = bench.asked.map(({ toolCall }) => toolCall);
    assert.deepEqual(more, []);
    assert.equal(asked?.title, `Search agent: ${task}`);
    assert.equal(asked?.kind, 'search');
    assert.deepEqual(asked?.rawInput, { task });
  });

  it('does not start if the user rejects it', async (t) => {
    const bench = await open(t, [searching()], () => saying('Found.'), { answer: () => 'rejected' });
    await bench.prompt('go');
    assert.deepEqual(bench.searches(), []);
    assert.match(bench.found()[0] ?? '', /The user rejected this/);
  });

  it('shows what the sub-agent does while it runs', async (t) => {
    const { held, hold, release } = holdAnswers();
    const read = calling([call('read_file', { path: 'a' }), call('search_text', { pattern: 'port' })]);
    const bench = await open(t, [searching()], (body) => (results(body).length === 0 ? read : hold));
    const turn = bench.prompt('go');
    await until('the calls are shown', async () =>
      bench.updates.some(
        (update) =>
          update.sessionUpdate === 'tool_call_update' &&
          JSON.stringify(update.content ?? null).includes('Read a\\nSearch port'),
      ),
    );
    assert.equal(held.length, 1);
    release(saying('Nowhere.'));
    await turn;
    assert.deepEqual(bench.found(), ['Nowhere.']);
    assert.equal(bench.said(), 'Done.');
  });

  it('runs at the same time as others and as reads, at most four at once', async (t) => {
    const { held, hold, release } = holdAnswers();
    const calls = Array.from({ length: 6 }, (_, i) => searching(`question ${i}`));
    const bench = await open(t, [call('read_file', { path: 'a' }), ...calls], () => hold);
    const turn = bench.prompt('go');
    const began = () =>
      bench.updates.filter(
        (update) => update.sessionUpdate === 'tool_call_update' && update.status === 'in_progress',
      ).length;
    await until('all have begun, and four are open', async () => began() === 7 && held.length === 4);
    assert.equal(bench.searches().length, 4);
    release(saying('Found.'));
    await until('the others are open', async () => held.length === 2);
    release(saying('Found, too.'));
    assert.equal(await turn, 'end_turn');
    assert.deepEqual(bench.found().slice(1), [...Array(4).fill('Found.'), ...Array(2).fill('Found, too.')]);
  });

  it('stops with the turn, and the history says so', async (t) => {
    const { held, hold } = holdAnswers();
    const bench = await open(t, Array(6).fill(searching()), () => hold);
    const turn = bench.prompt('go');
    await until('four are open', async () => held.length === 4);
    await bench.cancel();
    assert.equal(await turn, 'cancelled');
    await until('the requests are gone', async () => held.every(({ destroyed }) => destroyed));
    await bench.prompt('and now?');
    assert.deepEqual(bench.found(), [
      ...Array(4).fill('Stopped by the user.'),
      ...Array(2).fill('Not started: stopped by the user.'),
    ]);
    assert.equal(bench.searches().length, 4);
  });

  it('is in the history after a resumption', async (t) => {
    const home = temporary(t);
    const first = await open(t, [searching()], () => saying('In server.ts:1.'), { home });
    await first.prompt('go');
    await first.close();
    const second = await startRawBench(t, [saying('Yes.')], { home });
    await second.resume(first.sessionId());
    await second.prompt('Do you remember?');
    assert.deepEqual(results(second.bodies[0]), ['In server.ts:1.']);
  });
});

describe('a model error in a search', () => {
  for (const [status, message] of [
    [400, 'this model is on holiday'],
    [402, 'the budget is used up'],
  ] as const)
    it(`is the result of the call, ${status}, and the turn goes on`, async (t) => {
      const bench = await open(t, [searching()], () => refusing(status, message));
      assert.equal(await bench.prompt('go'), 'end_turn');
      assert.equal(bench.said(), 'Done.');
      assert.equal(bench.searches().length, 1);
      assert.equal(
        bench.found()[0],
        `The search agent failed: The model refused the request (${status}): ${message}`,
      );
      assert.equal(bench.ended()[0]?.status, 'failed');
    });

  it('is retried if the response breaks off', async (t) => {
    let requests = 0;
    const broken: RawAnswer = (response) => response.destroy();
    const bench = await open(t, [searching()], () => (++requests < 3 ? broken : saying('Found.')));
    await bench.prompt('go');
    assert.deepEqual(bench.found(), ['Found.']);
    assert.equal(requests, 3);
  });

  it('is reported if there is no answer', async (t) => {
    const bench = await open(t, [searching()], () => saying(''));
    await bench.prompt('go');
    assert.deepEqual(bench.found(), ['The search agent gave no answer.']);
  });
});

describe('the limits of a search', () => {
  it('are 20 requests, of which the last must answer', async (t) => {
    const again = calling([call('find_files', { glob: '*' })]);
    const bench = await open(t, [searching()], () => again);
    assert.equal(await bench.prompt('go'), 'end_turn');
    const searches = bench.searches();
    assert.equal(searches.length, 20);
    const told = searches.map(({ messages }) => /You have no steps left/.test(messages.at(-1).content));
    assert.deepEqual(told, [...Array(19).fill(false), true]);
    assert.match(bench.found()[0] ?? '', /found no answer in 20 steps/);
  });

  it('cut a long answer', async (t) => {
    const bench = await open(t, [searching()], () => saying('x'.repeat(12_005)));
    await bench.prompt('go');
    assert.equal(bench.found()[0], `${'x'.repeat(12_000)}\n[… 5 more characters are left out]`);
  });

  it('are eight calls in a step', async (t) => {
    const nine = calling(Array(9).fill(call('find_files', { glob: '*' })));
    const bench = await open(t, [searching()], (body) =>
      results(body).length === 0 ? nine : saying('Found.'),
    );
    await bench.prompt('go');
    assert.deepEqual(results(bench.searches()[1]), [
      ...Array(8).fill('No file is found.'),
      'Not run: at most 8 calls at once.',
    ]);
  });

  it('keep its history within a small context', async (t) => {
    const read = calling(Array(8).fill(call('read_file', { path: 'large' })));
    const bench = await open(
      t,
      [searching()],
      ({ messages }) => (/no steps left/.test(messages.at(-1).content) ? saying('Found.') : read),
      { current: { context: 8_000 } },
    );
    writeFileSync(join(bench.cwd, 'large'), 'line\n'.repeat(5_000));
    await bench.prompt('go');
    const [, ...later] = bench.searches();
    assert.deepEqual(bench.found(), ['Found.']);
    const chars = results(later.at(-1)).map((text) => text.length);
    assert.ok(Math.max(...chars) < 1_100, `${Math.max(...chars)} characters of one result`);
    assert.ok(JSON.stringify(later.at(-1).messages).length < 8_000 * 4);
  });
});

describe('a sub-agent', () => {
  it('cannot leave the workspace, whatever links and paths it names', async (t) => {
    const outside = temporary(t);
    writeFileSync(join(outside, 'secret.txt'), 'canary-4711\n');
    const calls = [
      call('read_file', { path: join(outside, 'secret.txt') }),
      call('read_file', { path: 'link/secret.txt' }),
      call('read_file', { path: 'file-link' }),
      call('search_text', { pattern: 'canary', path: 'link' }),
      call('search_text', { pattern: 'canary', path: '..' }),
      call('find_files', { glob: 'link/*' }),
      call('find_files', { glob: 'sub/**/link/secret.txt' }),
      call('find_files', { glob: '*', path: outside }),
    ];
    const bench = await open(t, [searching()], (body) =>
      results(body).length === 0 ? calling(calls) : saying('Found.'),
    );
    mkdirSync(join(bench.cwd, 'sub'));
    for (const link of ['link', 'sub/link']) symlinkSync(outside, join(bench.cwd, link));
    symlinkSync(join(outside, 'secret.txt'), join(bench.cwd, 'file-link'));
    await bench.prompt('go');
    const refused = /is not in the workspace, so you cannot read it\.$|^No file is found\.$/;
    for (const text of results(bench.searches()[1])) assert.match(text, refused);
    assert.doesNotMatch(JSON.stringify(bench.bodies), /canary-4711/);
  });

  it('finds and reads files of the workspace through links in it', async (t) => {
    const calls = [
      call('read_file', { path: 'link/a.txt' }),
      call('search_text', { pattern: 'inside', path: 'link' }),
      call('find_files', { glob: 'link/*' }),
    ];
    const bench = await open(t, [searching()], (body) =>
      results(body).length === 0 ? calling(calls) : saying('Found.'),
    );
    mkdirSync(join(bench.cwd, 'folder'));
    writeFileSync(join(bench.cwd, 'folder/a.txt'), 'inside\n');
    symlinkSync('folder', join(bench.cwd, 'link'));
    await bench.prompt('go');
    assert.deepEqual(results(bench.searches()[1]), ['1\tinside', 'folder/a.txt:1:inside', 'link/a.txt']);
  });

  for (const name of ['bash', 'write_file', 'fetch_page', 'search_agent'])
    it(`has no ${name}`, async (t) => {
      const input = { command: 'echo x >made', path: 'made', content: 'x', url: 'http://127.0.0.1/', task };
      const bench = await open(t, [searching()], (body) =>
        results(body).length === 0 ? calling([call(name, input)]) : saying('I cannot.'),
      );
      await bench.prompt('go');
      assert.match(results(bench.searches()[1])[0] ?? '', new RegExp(`unavailable tool '${name}'`));
      assert.deepEqual(bench.found(), ['I cannot.']);
      assert.equal(bench.searches().length, 2);
    });
});
