import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { someTime as at, newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { until } from '../../test/support/until.ts';
import { createConversation } from '../conversations/create/store.ts';
import { stopConversation } from '../conversations/lifecycle/store.ts';
import { claimConversation } from '../conversations/run/claimStore.ts';
import { stopReason } from '../conversations/states.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { ensureUser } from '../users/store.ts';
import { type EndCause, keepLease } from './lease.ts';

const times = { leaseMs: 60_000, renewMs: 100, giveUpMs: 1_000 };

for (const kind of databaseKinds)
  describe(`the lease of a run on ${kind}`, () => {
    it('is kept by a run that its user has stopped, until it has ended', async (t) => {
      const database = await openTestDatabase(kind, t);
      const { id: userId } = await database.run(ensureUser, 'ada');
      await database.run(createConversation, newConversation(userId, 'one'));
      const claim = { runId: 'run', owner: 'here', leaseMs: times.leaseMs, userRunsMax: 0 };
      const claimed = await database.run(claimConversation, claim);
      await database.run(stopConversation, { userId, id: 'one', at, reason: stopReason('user'), events: [] });
      let now = 0;
      const timers: (() => void)[] = [];
      const clock: Clock = {
        ...systemClock,
        steady: () => now,
        every: (_, work) => {
          timers.push(work);
          return { stop: () => {} };
        },
      };
      const causes: EndCause[] = [];
      const lease = keepLease({
        database,
        run: { key: claimed?.key ?? 0, runId: 'run' },
        times,
        clock,
        since: 0,
        onEnd: (cause) => causes.push(cause),
        onBackgroundError: (error) => {
          throw error;
        },
      });
      now = 900;
      timers[0]?.();
      await until('it has learnt that it must end', () => causes.length > 0);
      now = 1_500;
      assert.equal(lease.isHeld(), true);
      assert.deepEqual(causes, ['stop']);
      now = 2_500;
      assert.equal(lease.isHeld(), false);
    });
  });
