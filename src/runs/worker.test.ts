import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { createManualClock } from '../../test/support/manualClock.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { stopReason } from '../conversations/states.ts';
import { openConfiguredDatabase } from '../database.ts';
import type { Database, DatabaseKind } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { eventText, notice } from '../events/shapes.ts';
import type { Clock } from '../process/clock.ts';
import { createIds } from '../process/ids.ts';
import type { ClaimedRun, RunAgent } from './claimedRun.ts';
import { createWorker, type WorkerTimes } from './worker.ts';

const quick: WorkerTimes = { leaseMs: 60_000, renewMs: 20, giveUpMs: 30_000, pollMs: 50 };

interface WorkMore {
  readonly slots?: number;
  readonly times?: WorkerTimes;
  readonly clock?: Clock;
  /** Puts something between the worker and its database. */
  readonly wrap?: (database: Database) => Database;
}

interface Fixture {
  readonly service: TestService;
  readonly create: (id: string) => Promise<void>;
  readonly infoOf: (id: string) => Promise<{ status: string; stop_reason: { code: string } | null }>;
  readonly work: (runAgent: RunAgent, more?: WorkMore) => Promise<ReturnType<typeof createWorker>>;
}

/** The worker has a connection of its own, as in another process. */
async function setUp(kind: DatabaseKind, t: TestContext): Promise<Fixture> {
  const service = await startService({ kind }, t);
  const work = async (runAgent: RunAgent, { wrap = (same: Database) => same, ...more }: WorkMore = {}) => {
    const database = await openConfiguredDatabase(service.storage, () => {});
    const worker = createWorker({
      database: wrap(database),
      runAgent,
      owner: 'test',
      nextId: createIds(),
      slots: 10,
      userRunsMax: 0,
      onBackgroundError: () => {},
      times: quick,
      ...more,
    });
    t.after(async () => {
      await worker.close();
      await database.close();
    });
    return worker;
  };
  return {
    service,
    work,
    create: async (id) => {
      const made = await service.ask('/api/conversations', { json: { conversation_id: id } });
      assert.equal(made.status, 200);
    },
    infoOf: async (id) => (await service.ask(`/api/conversations/${id}`)).body,
  };
}

function ended({ signal }: ClaimedRun): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }));
}

const runUntilEnded: RunAgent = async (context) => {
  await context.record({ to: 'RUNNING' });
  await ended(context);
};

for (const kind of databaseKinds) {
  describe(`the worker on ${kind}`, () => {
    it('claims a conversation, runs it, and records its end', async (t) => {
      const { work, create, infoOf } = await setUp(kind, t);
      await create('a1');
      const worker = await work(async ({ record }) => {
        await record({ to: 'RUNNING' });
        await record({ events: [eventText(notice('It works.'), new Date().toISOString())] });
        await record({ to: 'STOPPED', reason: stopReason('finished') });
      });
      await until('it has stopped', async () => (await infoOf('a1')).stop_reason?.code === 'finished');
      await until('its slot is free', () => worker.size() === 0);
    });

    it('ends a run when its user stops the conversation, and starts it again when asked', async (t) => {
      const { service, work, create, infoOf } = await setUp(kind, t);
      await create('a1');
      let ends = 0;
      await work(async (context) => {
        await runUntilEnded(context);
        assert.equal(context.signal.reason, 'stop');
        ends += 1;
      });
      await until('it runs', async () => (await infoOf('a1')).status === 'RUNNING');
      await service.ask('/api/conversations/a1/stop', { method: 'POST' });
      await until('its run has ended', () => ends === 1);
      await service.ask('/api/conversations/a1/message', { json: { message: 'go on' } });
      await until('it runs again', async () => (await infoOf('a1')).status === 'RUNNING');
    });

    it('ends a run that slept past its lease at once, before any timer', async (t) => {
      const { work, create } = await setUp(kind, t);
      await create('a1');
      const seen: unknown[] = [];
      const giveUpMs = 300;
      await work(
        async ({ isHeld, signal }) => {
          if (seen.length > 0) return;
          seen.push(isHeld());
          // The whole process stands still, as one that is suspended.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * giveUpMs);
          seen.push(isHeld(), signal.reason);
        },
        { times: { ...quick, giveUpMs } },
      );
      await until('it was asked', () => seen.length > 1);
      assert.deepEqual(seen, [true, false, 'lost']);
    });

    it('stops a conversation whose agent fails', async (t) => {
      const { work, create, infoOf } = await setUp(kind, t);
      await create('a1');
      await work(async () => {
        throw new Error('the agent is broken');
      });
      await until('it has stopped', async () => (await infoOf('a1')).stop_reason?.code === 'agent_error');
    });

    it('starts a conversation again if its run met an unavailable database', async (t) => {
      const { work, create, infoOf } = await setUp(kind, t);
      await create('a1');
      let runs = 0;
      await work(async (context) => {
        if (++runs === 1) throw new AppError('database_unavailable', 'The database is away.');
        await runUntilEnded(context);
      });
      await until('it runs', async () => (await infoOf('a1')).status === 'RUNNING');
      assert.equal(runs, 2);
    });

    it('has no more runs than slots, and continues when one is free', async (t) => {
      const { work, create } = await setUp(kind, t);
      for (let i = 0; i < 6; i++) await create(`a${i}`);
      const open = Promise.withResolvers<void>();
      let running = 0;
      let most = 0;
      let done = 0;
      await work(
        async ({ record }) => {
          most = Math.max(most, ++running);
          await open.promise;
          await record({ to: 'STOPPED', reason: stopReason('finished') });
          running -= 1;
          done += 1;
        },
        { slots: 2 },
      );
      await until('both slots are taken', () => running === 2);
      open.resolve();
      await until('all are done', () => done === 6);
      assert.equal(most, 2);
    });

    it('leaves its conversations to another worker when it closes', async (t) => {
      const { service, work, create, infoOf } = await setUp(kind, t);
      await create('a1');
      const first = await work(runUntilEnded);
      await until('it runs', async () => (await infoOf('a1')).status === 'RUNNING');
      await first.close();
      assert.equal((await infoOf('a1')).status, 'RUNNING');
      const taken: boolean[] = [];
      await work(async (context) => {
        taken.push(context.conversation.status === 'RUNNING');
        await ended(context);
      });
      await until('another has it', () => taken.length === 1);
      assert.deepEqual(taken, [true]);
      const [row] = await inspect(service.storage, 'select next_event from conversations');
      assert.equal(Number(row?.['next_event']), 1);
    });

    it('ends a run itself if it cannot renew its lease, before that expires', async (t) => {
      const { work, create, infoOf } = await setUp(kind, t);
      const clock = createManualClock();
      await create('a1');
      let cause: unknown;
      const broken = (database: Database): Database => ({
        ...database,
        run: (transaction, input) =>
          transaction.name === 'runtime.renew'
            ? Promise.reject(new Error('the network is gone'))
            : database.run(transaction, input),
      });
      await work(
        async (context) => {
          await context.record({ to: 'RUNNING' });
          await ended(context);
          cause = context.signal.reason;
        },
        {
          times: { leaseMs: 60_000, renewMs: 20_000, giveUpMs: 30_000, pollMs: 60_000 },
          wrap: broken,
          clock,
        },
      );
      await until('it runs', async () => (await infoOf('a1')).status === 'RUNNING');
      clock.advance(30_000);
      assert.equal(cause, undefined);
      clock.advance(5_000);
      await until('it has ended itself', () => cause !== undefined);
      assert.equal(cause, 'lost');
      assert.equal((await infoOf('a1')).status, 'RUNNING');
    });
  });
}
