// Messages that wait: claimed by one process at a time, sent, tried again, given up, forgotten.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, read, rows, type Steps, write } from '../db/transaction.ts';
import type { DeliveryState } from './schema.ts';

function later(q: Queries, ms: number) {
  return sql<number>`${q.now} + ${Math.round(ms)}`;
}

export interface DueWebhook {
  readonly webhook_id: string;
  /** When its oldest message was to be sent. */
  readonly due_at: number;
}

// Steps from webhook to webhook by the index, so that it costs the same however many messages wait for each.
const selectDue = prepared((q: Queries, input: { max: number }): Query<DueWebhook> => {
  const state = sql.lit('waiting' satisfies DeliveryState);
  const text = sql<DueWebhook>`
    with recursive stepped (webhook_id) as (
      select min(webhook_id) from deliveries where state = ${state}
      union all
      select (select min(d.webhook_id) from deliveries d
        where d.state = ${state} and d.webhook_id > stepped.webhook_id)
      from stepped where stepped.webhook_id is not null)
    select webhook_id, due_at from (
      select webhook_id, (select min(d.next_at) from deliveries d
        where d.state = ${state} and d.webhook_id = stepped.webhook_id) as due_at
      from stepped where webhook_id is not null) as waiting
    where due_at <= ${q.now} order by due_at limit ${input.max}`;
  return { compile: () => text.compile(q.build) };
});

/** Webhooks with messages to send, the longest waiting first. */
export const listDue = read('deliveries.listDue', function* (q, max: number): Steps<DueWebhook[]> {
  return yield* rows(selectDue(q, { max }));
});

export interface ClaimInput {
  readonly webhooks: readonly { readonly id: string; readonly max: number }[];
  readonly leaseMs: number;
}

export interface ClaimedDelivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly user_id: number;
  readonly conversation_key: number;
  readonly conversation_id: string;
  readonly type: string;
  readonly payload: string | null;
  readonly event_id: number | null;
  readonly created_at: number;
  /** This one included. */
  readonly attempts: number;
  readonly url: string;
  readonly sealed: string;
  /** Until then nobody else sends it; also says whose claim it is. */
  readonly leased_until: number;
}

function selectClaimable(q: Queries, webhookId: string, max: number) {
  const query = q.build
    .selectFrom('deliveries')
    .select([
      'id',
      'webhook_id',
      'user_id',
      'conversation_key',
      'conversation_id',
      'type',
      'payload',
      'event_id',
      'created_at',
      'attempts',
    ])
    .where('state', '=', 'waiting' satisfies DeliveryState)
    .where('webhook_id', '=', webhookId)
    .where('next_at', '<=', q.now)
    .orderBy('next_at')
    .orderBy('id')
    .limit(max);
  return q.kind === 'postgres' ? query.forUpdate().skipLocked() : query;
}

/**
 * Takes messages for sending. One that is never heard of again, because the process died, is due again when its
 * lease is over.
 */
export const claimDeliveries = write(
  'deliveries.claim',
  function* (q, { webhooks, leaseMs }: ClaimInput): Steps<ClaimedDelivery[]> {
    const claimed: ClaimedDelivery[] = [];
    for (const { id, max } of webhooks) {
      const webhook = yield* one(
        q.build.selectFrom('webhooks').select(['url', 'sealed']).where('id', '=', id),
      );
      const due = yield* rows(selectClaimable(q, id, max));
      if (due.length === 0) continue;
      const ids = due.map((delivery) => delivery.id);
      if (webhook === undefined) {
        // Its deletion was interrupted.
        yield* rows(q.build.deleteFrom('deliveries').where('id', 'in', ids));
        continue;
      }
      const leased = yield* rows(
        q.build
          .updateTable('deliveries')
          .set((e) => ({ next_at: later(q, leaseMs), attempts: e('attempts', '+', 1) }))
          .where('id', 'in', ids)
          .returning(['id', 'next_at', 'attempts']),
      );
      const leases = new Map(leased.map((lease) => [lease.id, lease]));
      for (const delivery of due) {
        const { next_at = 0, attempts = 0 } = leases.get(delivery.id) ?? {};
        claimed.push({ ...delivery, ...webhook, attempts, leased_until: next_at });
      }
    }
    return claimed;
  },
);

export interface EventPlace {
  readonly userId: number;
  readonly conversationKey: number;
  readonly conversationId: string;
  readonly eventId: number;
}

/** The JSON of an event. Undefined where its conversation is gone: a later one may have got the same key. */
export const findDeliveredEvent = read('deliveries.findEvent', function* (q, place: EventPlace): Steps<
  string | undefined
> {
  const found = yield* one(
    q.build
      .selectFrom('events')
      .innerJoin('conversations', 'conversations.key', 'events.conversation_key')
      .select('events.json')
      .where('events.conversation_key', '=', place.conversationKey)
      .where('events.id', '=', place.eventId)
      .where('conversations.user_id', '=', place.userId)
      .where('conversations.id', '=', place.conversationId),
  );
  return found?.json;
});

/** It has arrived, or there is nothing to send any more. */
export const finishDelivery = write('deliveries.finish', function* (q, id: string): Steps<void> {
  yield* rows(q.build.deleteFrom('deliveries').where('id', '=', id));
});

export interface FailedAttempt {
  readonly id: string;
  readonly leasedUntil: number;
  readonly status: number | null;
  readonly error: string;
  /** Null: there is no point in trying again. */
  readonly retryAfterMs: number | null;
  readonly giveUpAfterMs: number;
}

/** Tries again later, or gives up. Changes nothing where somebody else has claimed it meanwhile. */
export const recordFailedAttempt = write(
  'deliveries.recordFailedAttempt',
  function* (q, failed: FailedAttempt): Steps<void> {
    const update = q.build
      .updateTable('deliveries')
      .where('id', '=', failed.id)
      .where('next_at', '=', failed.leasedUntil)
      .where('state', '=', 'waiting' satisfies DeliveryState);
    const seen = { last_status: failed.status, last_error: failed.error };
    if (failed.retryAfterMs !== null) {
      const again = yield* one(
        update
          .set({ ...seen, next_at: later(q, failed.retryAfterMs) })
          .where('since', '>', later(q, -failed.giveUpAfterMs))
          .returning('id'),
      );
      if (again !== undefined) return;
    }
    yield* rows(update.set({ ...seen, state: 'failed' satisfies DeliveryState, since: q.now }));
  },
);

/** Forgets messages that failed long ago, a bounded number at a time. Returns how many. */
export const purgeFailed = write(
  'deliveries.purgeFailed',
  function* (q, { keptMs, max }: { keptMs: number; max: number }): Steps<number> {
    const old = q.build
      .selectFrom('deliveries')
      .select('id')
      // As it stands in the index.
      .where('state', '=', sql.lit<string>('failed' satisfies DeliveryState))
      .where('since', '<=', later(q, -keptMs))
      .orderBy('since')
      .limit(max);
    const purged = yield* rows(q.build.deleteFrom('deliveries').where('id', 'in', old).returning('id'));
    return purged.length;
  },
);

export const outboxTransactions = [
  listDue,
  claimDeliveries,
  findDeliveredEvent,
  finishDelivery,
  recordFailedAttempt,
  purgeFailed,
];
