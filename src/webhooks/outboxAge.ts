// How old and how overdue pending deliveries are, for metrics. It jumps from webhook to webhook in the indexes, so that the
// cost does not depend on the number of deliveries.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, read, type Steps } from '../db/transaction.ts';
import type { OutboxAge } from '../metrics/serviceMetrics.ts';
import type { DeliveryState } from './schema.ts';

/** Further webhooks are not looked at. */
const webhooksMax = 10_000;

interface Oldest {
  /** Ids increase, so that the lowest is that of the oldest delivery. */
  readonly id: string | null;
  readonly due_at: number | null;
  readonly now: number;
}

const selectOldest = prepared((q: Queries, _: object): Query<Oldest> => {
  const state = sql.lit('waiting' satisfies DeliveryState);
  const text = sql<Oldest>`
    with recursive stepped (webhook_id, place) as (
      select min(webhook_id), 1 from deliveries where state = ${state}
      union all
      select (select min(d.webhook_id) from deliveries d
        where d.state = ${state} and d.webhook_id > stepped.webhook_id), place + 1
      from stepped where stepped.webhook_id is not null and place < ${sql.lit(webhooksMax)})
    select min(id) as id, min(due_at) as due_at, ${q.now} as now from (
      select
        (select min(d.id) from deliveries d
          where d.webhook_id = stepped.webhook_id and d.state = ${state}) as id,
        (select min(d.next_at) from deliveries d
          where d.state = ${state} and d.webhook_id = stepped.webhook_id) as due_at
      from stepped where webhook_id is not null) as oldest`;
  return { compile: () => text.compile(q.build) };
});

const selectCreatedAt = prepared((q: Queries, { id }: { id: string }) =>
  q.build.selectFrom('deliveries').select('created_at').where('id', '=', id),
);

export const readOutboxAge = read('deliveries.readAge', function* (q: Queries, _: null): Steps<OutboxAge> {
  const found = yield* one(selectOldest(q, {}));
  const now = Number(found?.now ?? 0);
  const since = (at: number | null | undefined) => (at == null ? 0 : Math.max(0, now - Number(at)));
  const oldest = found?.id == null ? undefined : yield* one(selectCreatedAt(q, { id: found.id }));
  return { oldestMs: since(oldest?.created_at), overdueMs: since(found?.due_at) };
});

export const outboxAgeTransactions = [readOutboxAge];
