import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  type AgentBenchOptions,
  startAgentBench,
  startRawBench,
  temporary,
} from '../../../test/support/agentBench.ts';
import {
  calling,
  createRawModel,
  type RawAnswer,
  type RawBody,
  refusing,
  run,
  saying,
} from '../../../test/support/rawModel.ts';
import { createJournal } from './journal.ts';

const print = (chars: number, name: string) => calling([run(`printf '%${chars}s' ${name}`)]);

/** The model answers every request without a stream with "A title", so that is the summary. */
function start(t: TestContext, answers: readonly RawAnswer[], more: AgentBenchOptions = {}) {
  return startRawBench(t, answers, { condenses: true, current: { context: 4_000 }, ...more });
}

/** Checks that each result follows its call, with only other results between them. */
function assertWellFormed({ messages }: RawBody): void {
  let open: string[] = [];
  for (const { role, tool_calls = [], tool_call_id } of messages) {
    if (role === 'tool') assert.equal(open.shift(), tool_call_id);
    else assert.deepEqual(open, []);
    if (role === 'assistant') open = tool_calls.map(({ id }: RawBody) => id);
  }
  assert.deepEqual(open, []);
}

const contents = ({ messages }: RawBody): string => JSON.stringify(messages.slice(1));

describe('a long history', () => {
  it('is replaced with a summary, except for the first message and the newest with its result', async (t) => {
    const answers = [print(5_000, 'one'), print(5_000, 'two'), print(5_000, 'three'), saying('Done.')];
    const bench = await start(t, answers);
    assert.equal(await bench.prompt('The task is to find the needle.'), 'end_turn');
    for (const body of bench.bodies) assertWellFormed(body);
    const last = bench.bodies.at(-1);
    assert.match(contents(last), /<first_message>\\nuser: The task is to find the needle.*<notes>\\nA title/);
    assert.match(contents(last), /three/);
    assert.doesNotMatch(contents(last), / two/);
  });

  it('keeps a newest result that is too long by itself, cut, and is not condensed forever', async (t) => {
    const answers = [print(100, 'small'), print(28_000, 'end'), print(28_000, 'end'), saying('Done.')];
    const bench = await start(t, answers);
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.equal(bench.bodies.length, 4);
    for (const body of bench.bodies) assertWellFormed(body);
    assert.match(contents(bench.bodies[2]), /characters are left out.*end/);
  });

  it('is condensed and sent again if the provider reports that it is too long', async (t) => {
    const tooLong = refusing(
      400,
      'input length and `max_tokens` exceed context limit: 142251 + 64000 > 200000',
    );
    const answers = [print(2_000, 'one'), print(2_000, 'two'), tooLong, saying('Done.')];
    const bench = await start(t, answers, { condenses: true, current: { context: 100_000 } });
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.match(contents(bench.bodies.at(-1)), /<notes>/);
  });

  it('is resumed by the next agent with the summary', async (t) => {
    const bench = await start(t, [print(9_000, 'one'), print(9_000, 'two'), saying('Done.')]);
    await bench.prompt('go');
    await bench.close();
    const model = createRawModel([saying('Here.')]);
    const next = await startAgentBench(t, { model, home: bench.home, cwd: bench.cwd });
    await next.resume(bench.sessionId());
    await next.prompt('and?');
    assert.match(contents(model.bodies[0]), /<notes>/);
    assertWellFormed(model.bodies[0]);
  });

  it('is condensed if it has many short messages', async (t) => {
    const home = temporary(t);
    const id = '00000000-0000-4000-8000-000000000000';
    const journal = createJournal(home, id);
    for (let turn = 0; turn < 401; turn++) {
      journal.addMessage({ role: 'user', content: `message ${turn}` });
      journal.addMessage({ role: 'assistant', content: 'Yes.' });
    }
    journal.close();
    const model = createRawModel([saying('Here.')]);
    const bench = await startAgentBench(t, { model, home, condenses: true });
    await bench.resume(id);
    await bench.prompt('and now?');
    assert.equal(model.bodies.length, 1);
    const [body] = model.bodies;
    assert.match(
      contents(body),
      /<first_message>\\nuser: message 0\\n.*<notes>\\nA title.*message 400.*and now\?/,
    );
    assert.ok(body.messages.length < 400);
  });

  it('is not changed if condensing is off', async (t) => {
    const bench = await start(t, [print(20_000, 'one'), saying('Done.')], { condenses: false });
    assert.equal(await bench.prompt('go'), 'end_turn');
    assert.doesNotMatch(contents(bench.bodies.at(-1)), /<notes>/);
  });
});
