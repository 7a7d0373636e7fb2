// The limits of the settings, and the titles, with the built-in agent.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startBuiltin } from '../../test/support/builtinRuns.ts';
import type { Runs } from '../../test/support/runs.ts';
import { openStream } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';
import type { Work } from '../agents/trial/scriptedModel/script.ts';

/** Long enough for a title. */
const long = 'Please write one line after the other to the file that is named log.';
const line = { run: 'echo x >>log' };
const titleOf = async ({ info }: Runs, id: string) =>
  ((await info(id)) as unknown as { title: string }).title;

describe('max_iterations with the built-in agent', () => {
  it('stops it at exactly that request, titles not counted, and the next message continues', async (t) => {
    const script = [line, line, line, line, { say: 'Done.' }];
    const runs = await startBuiltin(t, script, { settings: { max_iterations: 3 } });
    const id = await runs.create(long);
    const { stop_reason: reason } = await runs.reaches(id, 'STOPPED');
    assert.equal(reason?.code, 'max_iterations');
    assert.equal(await runs.file(id, 'log'), 'x\nx\nx\n');
    const isTitle = ({ request }: { request: { tools: readonly unknown[] } }) => request.tools.length === 0;
    assert.equal(runs.model.exchanges.filter((one) => !isTitle(one)).length, 3);
    assert.equal(runs.model.exchanges.filter(isTitle).length, 1);
    assert.equal(await titleOf(runs, id), 'Scripted');

    await runs.say(id, 'Go on.');
    await runs.reaches(id, 'RUNNING');
    assert.deepEqual(await runs.turns(id, 2), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'x\nx\nx\nx\n');
  });

  it('does not affect a message that needs exactly as many', async (t) => {
    const runs = await startBuiltin(t, [line, { say: 'Done.' }, line, { say: 'Again.' }], {
      settings: { max_iterations: 2 },
    });
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    await runs.say(id, 'again');
    assert.deepEqual(await runs.turns(id, 2), ['Done.', 'Again.']);
  });
});

describe('the search agent', () => {
  const look = { call: { tool: 'find_files', input: { glob: '*' } } };
  const searching = (steps: readonly Work[]) => [
    { delegate: { task: 'Which files are there?', steps } },
    { say: 'Done.' },
  ];

  it('is in the log with its task and its answer, and its requests are in the usage', async (t) => {
    const runs = await startBuiltin(t, searching([look, { say: 'There are none.' }]));
    const id = await runs.create('go');
    assert.deepEqual(await runs.turns(id, 1), ['Done.']);
    const events = await runs.events(id);
    const action = events.find(({ action }) => action === 'call_tool_mcp');
    assert.equal(action?.args?.['name'], 'Search agent: Which files are there?');
    assert.deepEqual(action?.args?.['arguments'], { task: 'Which files are there?' });
    const observation = events.find(({ observation }) => observation === 'mcp');
    assert.equal(observation?.content, 'There are none.');
    const { usage } = (await runs.info(id)) as unknown as { usage: { requests: number } };
    assert.equal(usage.requests, 4);
  });

  it('counts for max_iterations', async (t) => {
    const steps = [look, look, look, { say: 'There are none.' }];
    const runs = await startBuiltin(t, searching(steps), { settings: { max_iterations: 3 } });
    const id = await runs.create('go');
    assert.equal((await runs.reaches(id, 'STOPPED')).stop_reason?.code, 'max_iterations');
    assert.equal(runs.model.exchanges.length, 3);
  });
});

describe('max_budget_per_task with the built-in agent', () => {
  it('stops it with the first request beyond it, and again until it is raised', async (t) => {
    const script = [line, line, { say: 'Done.' }];
    const runs = await startBuiltin(t, script, { settings: { max_budget_per_task: 0.000001 } });
    const id = await runs.create('go');
    assert.equal((await runs.reaches(id, 'STOPPED')).stop_reason?.code, 'max_budget');
    assert.equal(await runs.file(id, 'log'), 'x\n');
    assert.equal(runs.model.exchanges.length, 1);
    await runs.service.ask('/api/settings', { json: { max_budget_per_task: 5 } });
    await runs.say(id, 'Go on.');
    await runs.reaches(id, 'RUNNING');
    assert.deepEqual(await runs.turns(id, 2), ['Done.']);
    assert.equal(await runs.file(id, 'log'), 'x\nx\n');
  });
});

describe('a title of the built-in agent', () => {
  const firstTitleAfter = async (t: TestContext, change?: string) => {
    // The answer to the work comes late enough for a title meanwhile.
    const runs = await startBuiltin(t, [{ slow: { firstMs: 300 } }, line, { say: 'Done.' }]);
    const { service } = runs;
    const stream = await openStream(service.url, '/api/events/stream', { key: service.key });
    t.after(() => stream.cut());
    const id = await runs.create(long);
    if (change !== undefined)
      await service.ask(`/api/conversations/${id}`, { method: 'PATCH', json: { title: change } });
    await runs.turns(id, 1);
    return { runs, id, stream };
  };

  it('replaces the one from the message, and is reported as a change', async (t) => {
    const { runs, id, stream } = await firstTitleAfter(t);
    await until('it has the title', async () => (await titleOf(runs, id)) === 'Scripted');
    await until('it is told', () =>
      stream.frames().some(({ data }) => data.includes(id) && data.includes('"Scripted"')),
    );
  });

  it('does not replace one that a person has set', async (t) => {
    const { runs, id } = await firstTitleAfter(t, 'Mine');
    await until('it was request for', () => runs.model.exchanges.length === 3);
    await runs.say(id, 'And now this, please, which is a message that is long enough, too.');
    await runs.turns(id, 2);
    assert.equal(await titleOf(runs, id), 'Mine');
  });
});
