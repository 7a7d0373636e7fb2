// Agents that act without approval while their user has to approve.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { filesOf, type Runs, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { approvalRequest, ending, errorsAndNotices } from '../../test/support/runTalk.ts';

function startAsking(t: TestContext, { settings, ...more }: RunsOptions = {}): Promise<Runs> {
  return startRuns({ settings: { confirmation_mode: true, ...settings }, ...more }, t);
}

async function answer({ service }: Runs, id: string, decision: string): Promise<void> {
  const { status } = await service.ask(`/api/conversations/${id}/confirm`, { json: { decision } });
  assert.equal(status, 200);
}

/** Lines for the fake agent, and whether it asks first. */
const breaches: Readonly<Record<string, { line: string; decision?: string }>> = {
  'runs a command without asking': { line: 'run rm a' },
  'edits a file without asking': { line: 'edit a.txt text' },
  'runs what was rejected': { line: 'run-rejected rm a', decision: 'reject' },
  'runs something before it is answered': { line: 'run-before-answer rm a' },
  'runs something else than was allowed': { line: 'ask-run-other ls; rm a', decision: 'allow' },
  'says later that it was a command': { line: 'late-kind rm a' },
  'reports it in another session': { line: 'run-in-other-session rm a' },
};

for (const kind of databaseKinds)
  describe(`confirmation_mode on ${kind}`, { concurrency: 2 }, () => {
    it('stops an agent that acts without asking, and the log says what it did', async (t) => {
      const runs = await startAsking(t, { kind });
      const id = await runs.create('say before\nrun rm a\nsay after\nhang');
      const { code, message, events } = await ending(runs, id);
      assert.equal(code, 'unconfirmed_action');
      assert.match(message, /ran something that nobody had approved.*: rm a\./);
      const ran = events.filter(({ action, observation }) => action === 'run' || observation === 'run');
      assert.deepEqual(
        ran.map(({ args, extras }) => (args ?? extras)?.['command']),
        ['rm a', 'rm a'],
      );
      assert.ok(errorsAndNotices(events).includes(message));
      assert.ok(!events.some(({ args }) => args?.['content'] === 'after'));
    });

    it('remembers after a restart what its user always allows', async (t) => {
      const storage = await createStorage(kind);
      const first = await startAsking(t, { storage });
      const id = await first.create('ask-run rm a');
      await approvalRequest(first, id);
      await answer(first, id, 'allow_always');
      await first.turns(id, 1);
      await first.service.stop();

      const second = await startAsking(t, { storage });
      t.after(() => storage.remove());
      await second.say(id, 'run rm b\nsay done');
      // The answer lets the first turn run again, which counts as one.
      assert.equal((await second.turns(id, 3)).at(-1), 'done');
      await second.say(id, 'edit a.txt text');
      assert.equal((await ending(second, id)).code, 'unconfirmed_action');
    });
  });

describe('confirmation_mode', { concurrency: 2 }, () => {
  for (const [name, { line, decision }] of Object.entries(breaches))
    it(`stops an agent that ${name}`, async (t) => {
      const runs = await startAsking(t);
      const id = await runs.create(`${line}\nhang`);
      if (decision !== undefined) {
        await approvalRequest(runs, id);
        await answer(runs, id, decision);
      }
      assert.equal((await ending(runs, id)).code, 'unconfirmed_action');
    });

  it('lets an agent do what was approved, however it reports that', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create(
      'ask-run rm a\nbegin-ask-run rm b\nask-other-id rm c\nask-run rm d\nread a.txt\nmcp docs find',
    );
    for (const [i, decision] of ['allow', 'allow', 'allow', 'reject'].entries()) {
      await approvalRequest(runs, id, i + 1);
      await answer(runs, id, decision);
    }
    assert.deepEqual(await runs.turns(id, 1), [
      'completed rm a',
      'completed rm b',
      'completed rm c',
      'failed rm d',
    ]);
  });

  it('starts an agent again that was started without it, before its next turn', async (t) => {
    const runs = await startAsking(t, { settings: { confirmation_mode: false } });
    const id = await runs.create('run rm a\nsay done');
    assert.deepEqual(await runs.turns(id, 1), ['done']);
    await runs.service.ask('/api/settings', { json: { confirmation_mode: true } });
    await runs.say(id, 'ask-run rm b');
    await approvalRequest(runs, id);
    await answer(runs, id, 'allow');
    assert.equal((await runs.turns(id, 2)).at(-1), 'completed rm b');
    const { agents } = await filesOf(runs.service.storage, id);
    assert.equal(agents().length, 2);
    await runs.say(id, 'run rm c');
    assert.equal((await ending(runs, id)).code, 'unconfirmed_action');
  });

  const asks = [
    [undefined, null, /It is not known whether fake asks.*agents test fake --confirm/],
    ['nothing', null, /fake does not ask before it acts.*Turn confirmation_mode off/],
    ['commands', null, /but not before it changes files/],
    ['commands', 'some', undefined],
    ['all', null, undefined],
  ] as const;
  for (const [said, analyzer, sentence] of asks)
    it(`${sentence === undefined ? 'starts' : 'does not start'} an agent that asks for ${said}, with the analyzer ${analyzer}`, async (t) => {
      const storage = await createStorage('sqlite');
      t.after(() => storage.remove());
      await (await startRuns({ storage }, t)).service.stop();
      const file = join(storage.dataDir, 'agents.json');
      const { agents } = JSON.parse(readFileSync(file, 'utf8'));
      const changed = agents.map((agent: object) => ({ ...agent, asks: said }));
      writeFileSync(file, JSON.stringify({ agents: changed }));
      const runs = await startAsking(t, { storage, settings: { security_analyzer: analyzer } });
      const id = await runs.create('say hello');
      if (sentence === undefined) return assert.deepEqual(await runs.turns(id, 1), ['hello']);
      const { code, message } = await ending(runs, id);
      assert.equal(code, 'unconfirmed_action');
      assert.match(message, sentence);
    });
});
