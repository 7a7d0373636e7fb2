// A claim and the sweep read a few entries of indexes, also beside a user who has nearly all rows, for whom a database may
// prefer other ways.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { planOf, rowsRead, statementsOf } from '../../../test/support/plans.ts';
import { createPostgresQueries, createSqliteQueries } from '../../db/queries.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { countWaitingOf, countWaitingSteps } from '../create/waitingStore.ts';
import { endReservations, findEndedReservations } from '../sweep/reservationStore.ts';
import { findRoom } from '../sweep/roomStore.ts';
import { defaultTimes } from '../sweep/service.ts';
import { findOverdue } from '../sweep/store.ts';
import { claimConversation } from './claimStore.ts';

const queued = 20_000;
/** A few entries of each index for each of the users and runs. */
const rowsMax = 200;

/** One user has a long queue, and the other a short one; both have a run. The rest of the rows is as `more` says. */
async function openQueue(kind: DatabaseKind, t: TestContext, more: string) {
  const storage = await openTestDatabase(kind, t);
  const heavy = await storage.run(ensureUser, 'heavy');
  const light = await storage.run(ensureUser, 'light');
  const numbers =
    kind === 'postgres'
      ? `generate_series(1, ${queued}) as n (i)`
      : `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${queued}) select i from n)`;
  const insert = (userId: number, from: string) =>
    inspect(
      storage,
      `insert into conversations (user_id, id, fingerprint, status, title, trigger, request, next_event, created_at, updated_at)
       select ${userId}, 'c' || i, '', 'STARTING', '', 'gui', '{}', 0, 0, 0 from ${from}`,
    );
  await insert(heavy.id, numbers);
  await insert(light.id, '(select 1 as i union all select 2) as two');
  await inspect(storage, `update conversations set ${more} where user_id = ${heavy.id}`);
  await inspect(
    storage,
    `update conversations set run_id = 'r' || key, owner = 'o', status = 'RUNNING', lease_until = 0, claimed_at = 0,
       active_at = 0, question = 1, reserved_for = '' where id = 'c1'`,
  );
  await inspect(storage, 'analyze');
  return { storage, heavy, light, q: kind === 'postgres' ? createPostgresQueries() : createSqliteQueries() };
}

const reservations = {
  'that any machine may take': "reserved_for = ''",
  'that are reserved for another machine': "reserved_for = 'there', reserved_until = 9000000000000000",
};

for (const kind of databaseKinds)
  for (const [which, more] of Object.entries(reservations)) {
    describe(`beside a long queue of conversations ${which}, on ${kind},`, () => {
      it('a claim and the limit of a creation read a few entries of the indexes of waiting and running ones', async (t) => {
        const { storage, heavy, light, q } = await openQueue(kind, t, more);
        const claim = { runId: 'r', owner: 'o', nodeId: 'here', leaseMs: 1_000, userRunsMax: 0 };
        const users = [heavy, light].map(({ id }) => ({ user_id: id, unreserved: 1, reserved: 2, runs: 0 }));
        // Nothing is taken, so that the claim tries everything.
        const statements = statementsOf(claimConversation.steps(q, claim), [users]);
        assert.equal(statements.length, 5);
        for (const { id: userId } of [heavy, light])
          for (const reservedFor of [undefined, '', 'here'])
            statements.push(...statementsOf(countWaitingSteps(q, { userId, max: 10, reservedFor })));
        if (kind === 'postgres')
          statements.push(...statementsOf(countWaitingOf(q, [heavy.id, light.id], 10)));
        for (const statement of statements) {
          const plan = await planOf(storage, statement);
          assert.match(plan, /conversations_waiting/);
          const isUpdate = /^\s*update/i.test(statement);
          // The row to update is found by its key.
          const scans = plan
            .split('\n')
            .filter((line) => /\b(scan|search)\b.*\bconversations\b/i.test(line))
            .filter((line) => !(isUpdate && /pkey on conversations |INTEGER PRIMARY KEY/.test(line)));
          for (const line of scans) assert.match(line, /conversations_(waiting|runs)\b/, plan);
          if (kind === 'postgres') assert.ok((await rowsRead(storage, statement)) <= rowsMax, plan);
        }
      });

      it('the sweep reads runs, and a few entries of the queue', async (t) => {
        const { storage, heavy, light, q } = await openQueue(kind, t, more);
        const times = defaultTimes;
        const room = { times, max: 100, isFull: true, userRunsMax: 0, nodeId: 'here' };
        const idle = [heavy, light].map(({ id }, i) => ({ key: i, user_id: id, workspace_node: 'here' }));
        const runs = [heavy, light].map(({ id }) => ({ user_id: id, all: 1, ending: 0, endingHere: 0 }));
        const statements = [
          ...statementsOf(findOverdue.steps(q, { kind: 'idle', times, max: 100 })),
          ...statementsOf(findRoom.steps(q, room), [idle, runs]),
          ...statementsOf(findEndedReservations.steps(q, 100), [
            [
              { id: 'there', lives: 1 },
              { id: 'here', lives: 0 },
            ],
          ]),
          ...statementsOf(endReservations.steps(q, { keys: [1, 2], userRunsMax: 1 }), [
            [
              { key: 1, user_id: heavy.id, isLate: 1 },
              { key: 2, user_id: light.id, isLate: 1 },
            ],
            [{ user_id: heavy.id }],
          ]),
        ];
        assert.equal(statements.length, 1 + 8 + 3 + 4);
        for (const statement of statements) {
          const plan = await planOf(storage, statement);
          // An index that is named, and not all rows.
          const scans = plan
            .split('\n')
            .filter((line) => /\bscan\b.*\b(conversations|other|run|old)\b/i.test(line));
          for (const line of scans) assert.match(line, /index/i, `${statement}\n${plan}`);
          if (kind === 'postgres')
            assert.ok((await rowsRead(storage, statement)) <= rowsMax, `${statement}\n${plan}`);
        }
      });
    });
  }
