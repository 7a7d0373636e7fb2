// A claim reads a few entries of two indexes, also beside a user who has nearly all rows, for whom a database may prefer
// other ways.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect, type Row } from '../../../test/support/inspect.ts';
import { createPostgresQueries, createSqliteQueries } from '../../db/queries.ts';
import type { Database, Steps } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { countWaitingOf, countWaitingSteps } from '../create/waitingStore.ts';
import { claimConversation } from './claimStore.ts';

const queued = 20_000;

/** The statements of a transaction whose first ones find these rows. */
function statementsOf(steps: Steps<unknown>, results: readonly (readonly unknown[])[]): string[] {
  const texts: string[] = [];
  for (let step = steps.next(); !step.done; step = steps.next([...(results[texts.length - 1] ?? [])])) {
    const { sql, parameters } = step.value.compile();
    const literal = (value: unknown) => {
      if (Array.isArray(value)) return `'{${value.join(',')}}'`;
      return typeof value === 'number' ? String(value) : `'${String(value)}'`;
    };
    let n = 0;
    texts.push(
      sql
        .replace(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1]))
        .replace(/\?/g, () => literal(parameters[n++])),
    );
  }
  return texts;
}

const planText = (rows: readonly Row[]) =>
  rows.map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n');

for (const kind of databaseKinds) {
  describe(`the plan of a claim on ${kind}`, () => {
    it('uses the indexes of waiting and running conversations only', async (t) => {
      const storage = await openTestDatabase(kind, t);
      const database: Database = storage;
      const heavy = await database.run(ensureUser, 'heavy');
      const light = await database.run(ensureUser, 'light');
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
      await insert(light.id, '(select 1 as i) as one');
      await inspect(storage, 'analyze');
      const q = kind === 'postgres' ? createPostgresQueries() : createSqliteQueries();
      const users = [heavy, light].map(({ id }, i) => ({ user_id: id, key: i + 1, runs: 0 }));
      const claim = { runId: 'r', owner: 'o', leaseMs: 1_000, userRunsMax: 0 };
      // Nothing is taken, so that the claim tries both users.
      const statements = statementsOf(claimConversation.steps(q, claim), [users]);
      assert.equal(statements.length, 3);
      for (const { id: userId } of [heavy, light])
        statements.push(...statementsOf(countWaitingSteps(q, { userId, max: 1_000 }), []));
      if (kind === 'postgres')
        statements.push(...statementsOf(countWaitingOf(q, [heavy.id, light.id], 1_000), []));
      for (const statement of statements) {
        const explain = kind === 'postgres' ? 'explain' : 'explain query plan';
        const plan = planText(await inspect(storage, `${explain} ${statement}`));
        assert.match(plan, /conversations_waiting/);
        const isUpdate = /^\s*update/i.test(statement);
        // The row to update is found by its key.
        const scans = plan
          .split('\n')
          .filter((line) => /\b(scan|search)\b.*\bconversations\b/i.test(line))
          .filter((line) => !(isUpdate && /pkey on conversations |INTEGER PRIMARY KEY/.test(line)));
        for (const line of scans) assert.match(line, /conversations_(waiting|runs)\b/, plan);
      }
    });
  });
}
