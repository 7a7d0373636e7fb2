// The user cancels a turn or messages, and the conversation goes on.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { hold, isHeld, letGo } from '../../test/fakeAgent/holds.ts';
import { readPrompts } from '../../test/fakeAgent/prompts.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { createRunsClient, filesOf, type Runs, startRuns, type TestEvent } from '../../test/support/runs.ts';
import { approvalRequest, statesOf } from '../../test/support/runTalk.ts';
import { startService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const env = { SESSION_API_KEY: 'the-same-key-everywhere', PARLEY_SECRET_KEY: '11'.repeat(32) };

type Talk = Omit<Runs, 'service'>;

const isCancel = ({ source, args }: TestEvent) =>
  source === 'user' && args?.['agent_state'] === 'awaiting_user_input';
const isCancelled = ({ extras }: TestEvent) => extras?.['notice_id'] === 'CANCELLED';

/** Waits until the log says that this many cancellations have had their effect and the agent waits. */
function cancelledTimes({ events }: Pick<Talk, 'events'>, id: string, count: number): Promise<TestEvent[]> {
  return until(
    `${count} cancellations are done`,
    async () => {
      const all = await events(id);
      const isIdle = statesOf(all).at(-1) === 'awaiting_user_input';
      return isIdle && all.filter(isCancelled).length === count && all;
    },
    20_000,
  );
}

function began({ events }: Pick<Talk, 'events'>, id: string, command: string): Promise<unknown> {
  return until(`${command} has begun`, async () =>
    (await events(id)).some(({ args }) => args?.['command'] === command),
  );
}

/** Each notice names the cancellation that caused it. */
function assertCauses(events: readonly TestEvent[]): void {
  assert.deepEqual(
    events.filter(isCancelled).map(({ cause }) => cause),
    events.filter(isCancel).map(({ id }) => id),
  );
}

async function promptsOf({ service }: Pick<Runs, 'service'>, id: string): Promise<string[]> {
  const { home } = await filesOf(service.storage, id);
  return readPrompts(home).map(({ blocks }) =>
    blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
  );
}

for (const kind of databaseKinds) {
  describe(`POST …/cancel on ${kind}`, { concurrency: 2 }, () => {
    it('ends a turn during a tool call, and the same agent answers the next message', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('run-forever make\nhang\nsay never');
      await began(runs, id, 'make');
      await runs.cancel(id);
      const events = await cancelledTimes(runs, id, 1);
      assertCauses(events);
      const call = events.find(({ extras }) => extras?.['outcome'] === 'unfinished');
      const done = events.find(isCancelled);
      assert.ok(call !== undefined && done !== undefined && call.id < done.id);
      assert.equal(done.content, 'The turn was cancelled.');
      const { status, agent_state } = await runs.info(id);
      assert.deepEqual([status, agent_state], ['RUNNING', 'awaiting_user_input']);
      await runs.say(id, 'say next');
      assert.deepEqual(await runs.turns(id, 2), ['next']);
      const { agents } = await filesOf(runs.service.storage, id);
      assert.equal(agents().length, 1);
    });

    it('rejects an open approval request, which nobody can answer then', async (t) => {
      const runs = await startRuns({ kind, settings: { confirmation_mode: true } }, t);
      const id = await runs.create('ask-run rm a\nask-run rm b\nsay never');
      const asked = await approvalRequest(runs, id);
      await runs.cancel(id);
      const late = await runs.service.ask(`/api/conversations/${id}/confirm`, {
        json: { decision: 'allow' },
      });
      assert.deepEqual([late.status, late.body.code], [409, 'nothing_to_confirm']);
      const events = await cancelledTimes(runs, id, 1);
      const rejected = events.filter(({ observation }) => observation === 'user_rejected');
      assert.deepEqual(
        rejected.map(({ cause }) => cause),
        [asked.id],
      );
      assert.deepEqual(statesOf(events).slice(-4), [
        'awaiting_user_confirmation',
        'user_rejected',
        'running',
        'awaiting_user_input',
      ]);
      assert.ok(!events.some(({ args }) => args?.['content'] === 'completed rm a'));
      await runs.say(id, 'ask-run rm c');
      await approvalRequest(runs, id, 2);
      await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'allow' } });
      assert.equal((await runs.turns(id, 3)).at(-1), 'completed rm c');
    });

    it('drops messages that the agent was not given, and a later one is given alone', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('run begun\nhang');
      await began(runs, id, 'begun');
      await runs.say(id, 'say queued');
      await runs.cancel(id);
      await runs.say(id, 'say after');
      assert.deepEqual(await runs.turns(id, 2), ['after']);
      const events = await runs.events(id);
      assertCauses(events);
      assert.match(
        events.find(isCancelled)?.content ?? '',
        /turn was cancelled\. Messages .* were cancelled\./,
      );
      assert.deepEqual((await promptsOf(runs, id)).slice(1), ['say after']);
    });

    it('drops the first message of a conversation that has not started yet, which still starts', async (t) => {
      const storage = await createStorage(kind);
      t.after(() => storage.remove());
      const api = await startRuns({ storage, env: { PARLEY_ROLE: 'api' } }, t);
      const id = await api.create('say one');
      await api.cancel(id);
      await api.cancel(id);
      assert.equal((await api.events(id)).filter(isCancel).length, 1);
      assert.equal((await api.info(id)).status, 'STARTING');
      await api.service.stop();
      const runs = await startRuns({ storage }, t);
      const events = await cancelledTimes(runs, id, 1);
      assertCauses(events);
      assert.equal((await runs.info(id)).agent_state, 'awaiting_user_input');
      await runs.say(id, 'say two');
      assert.deepEqual(await runs.turns(id, 1), ['two']);
      const [prompt = ''] = await promptsOf(runs, id);
      assert.match(prompt, /User: say one\n\nThe user cancelled this/);
    });

    it('applies between the beginning of a turn and its prompt', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say ready');
      await runs.turns(id, 1);
      const { home } = await filesOf(runs.service.storage, id);
      hold(home, 'prompt');
      // It cannot end by itself before the run finds the cancellation.
      await runs.say(id, 'hang\nsay never');
      await until('the agent has the prompt', () => isHeld(home, 'prompt'));
      await runs.cancel(id);
      letGo(home, 'prompt');
      const events = await cancelledTimes(runs, id, 1);
      assertCauses(events);
      await runs.say(id, 'say on');
      assert.equal((await runs.turns(id, 3)).at(-1), 'on');
    });

    it('writes nothing if there is nothing to cancel: twice, after the turn, and after the end', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('run begun\nhang');
      await began(runs, id, 'begun');
      await Promise.all(Array.from({ length: 5 }, () => runs.cancel(id)));
      const before = await cancelledTimes(runs, id, 1);
      assert.equal(before.filter(isCancel).length, 1);
      await runs.cancel(id);
      assert.deepEqual(await runs.events(id), before);
      await runs.stop(id);
      const stopped = await runs.events(id);
      const { status, body } = await runs.service.ask(`/api/conversations/${id}/cancel`, { method: 'POST' });
      assert.deepEqual([status, body.conversation_status], [200, 'STOPPED']);
      assert.deepEqual(await runs.events(id), stopped);
      const unknown = await runs.service.ask('/api/conversations/no-such/cancel', { method: 'POST' });
      assert.equal(unknown.status, 404);
    });

    for (const [line, starts] of [
      ['ignore-cancel', 2],
      ['crash-on-cancel', 2],
      ['error-on-cancel', 1],
    ] as const)
      it(`leaves the conversation running whatever its agent does: ${line}`, async (t) => {
        const times = { worker: { cancelMs: line === 'ignore-cancel' ? 300 : 60_000 } };
        const runs = await startRuns({ kind, times }, t);
        const id = await runs.create(`run begun\n${line}`);
        await began(runs, id, 'begun');
        await runs.say(id, 'say queued');
        await runs.cancel(id);
        await runs.say(id, 'say next');
        assert.deepEqual(await runs.turns(id, 2), ['next']);
        const events = await runs.events(id);
        assertCauses(events);
        assert.ok(!events.some(({ observation }) => observation === 'error'));
        assert.ok(!statesOf(events).includes('stopped'));
        const { agents } = await filesOf(runs.service.storage, id);
        assert.equal(agents().length, starts);
      });

    it('holds for a turn whose run is gone, which is not continued', async (t) => {
      const storage = await createStorage(kind);
      t.after(() => storage.remove());
      const first = await startRuns({ storage }, t);
      const id = await first.create('run begun\nhang');
      await began(first, id, 'begun');
      await first.service.stop();
      const api = await startRuns({ storage, env: { PARLEY_ROLE: 'api' } }, t);
      await api.cancel(id);
      await api.service.stop();
      const second = await startRuns({ storage }, t);
      const events = await cancelledTimes(second, id, 1);
      assertCauses(events);
      await second.say(id, 'say next');
      assert.equal((await second.turns(id, 2)).at(-1), 'next');
      const prompts = await promptsOf(second, id);
      assert.equal(prompts.length, 2);
      assert.match(prompts[1] ?? '', /> run begun\n> hang[\s\S]*say next$/);
    });
  });
}

/** Two machines with one database: the first runs agents, the second only answers requests. */
async function startTwo(t: TestContext) {
  const storage = await createStorage('postgres');
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(async () => {
    await storage.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const runs = await startRuns({ storage, env }, t);
  const other = await startService(
    { storage: { ...storage, dataDir }, env: { ...env, PARLEY_ROLE: 'api' } },
    t,
  );
  return { runs, other: createRunsClient(other.ask) };
}

describe('POST …/cancel in another process', () => {
  it('reaches the run', async (t) => {
    const { runs, other } = await startTwo(t);
    const id = await runs.create('run begun\nhang');
    await began(runs, id, 'begun');
    await other.cancel(id);
    assertCauses(await cancelledTimes(runs, id, 1));
    assert.ok(existsSync((await filesOf(runs.service.storage, id)).home));
  });
});
