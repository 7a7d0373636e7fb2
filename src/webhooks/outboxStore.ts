// Pending deliveries. They are written in the transaction of the change that they report, so that none is lost, and
// then claimed by one process at a time, sent, and retried or given up.
import { sql } from 'kysely';
import {
  one,
  prepared,
  type Queries,
  type Query,
  read,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../db/transaction.ts';
import { eventKeyOf } from '../events/eventKey.ts';
import { type DeliverySource, insertDeliveries, type NewDelivery } from './deliveryBatches.ts';
import type { DeliveryState, WebhookEvent } from './schema.ts';
import { type EventPosition, findLastMessages, type Waiting } from './waiting.ts';

function later(q: Queries, ms: number) {
  return sql<number>`${q.now} + ${Math.round(ms)}`;
}

interface Occurrence extends DeliverySource {
  /** The JSON of a status change, which becomes `data` of a conversation.status delivery. */
  readonly status?: string | undefined;
  /** Appended events: ids first .. first+count-1. */
  readonly events?: { readonly first: number; readonly count: number } | undefined;
  /** The conversation waits for its user, as the event with this id says. */
  readonly waiting?: (Waiting & { readonly eventId: number }) | undefined;
}

// The key-share lock makes a deletion of the webhook wait, so that it finds these rows.
const selectWanted = prepared((q: Queries, input: { userId: number }) => {
  const query = q.build.selectFrom('webhooks').select(['id', 'events']).where('user_id', '=', input.userId);
  return q.kind === 'postgres' ? query.forKeyShare() : query;
});

/** The deliveries for one webhook, in the order in which they are sent. */
function deliveriesFor({ id, events: text }: { id: string; events: string }, h: Occurrence): NewDelivery[] {
  const wanted = new Set(JSON.parse(text) as WebhookEvent[]);
  const messages: NewDelivery[] = [];
  if (h.status !== undefined && wanted.has('conversation.status'))
    messages.push({ webhook: id, type: 'conversation.status', payload: h.status, event: null });
  if (h.events !== undefined && wanted.has('conversation.event'))
    for (let i = 0; i < h.events.count; i++)
      messages.push({ webhook: id, type: 'conversation.event', payload: null, event: h.events.first + i });
  if (h.waiting !== undefined && wanted.has('conversation.waiting')) {
    const { eventId, ...waiting } = h.waiting;
    const payload = JSON.stringify(waiting);
    messages.push({ webhook: id, type: 'conversation.waiting', payload, event: eventId });
  }
  return messages;
}

/** Must be called in the transaction of the change. Inserts one row for each webhook that subscribes to it. */
export function* recordDeliveries(q: Queries, occurrence: Occurrence): Steps<void> {
  const webhooks = yield* rows(selectWanted(q, { userId: occurrence.userId }));
  for (const webhook of webhooks) yield* insertDeliveries(q, occurrence, deliveriesFor(webhook, occurrence));
}

/** Deletes pending event deliveries of a deleted conversation; its status deliveries stay. */
export function* forgetEventDeliveries(q: Queries, conversationKey: number): Steps<void> {
  yield* rows(
    q.build
      .deleteFrom('deliveries')
      .where('conversation_key', '=', conversationKey)
      .where('event_id', 'is not', null),
  );
}

export interface DueWebhook {
  readonly webhook_id: string;
  /** Null if the webhook was deleted but its deliveries were not. */
  readonly user_id: number | null;
  /** When its oldest delivery was due. */
  readonly due_at: number;
}

// Jumps from webhook to webhook in the index, so that the cost does not depend on the number of deliveries. The first
// webhook of every user comes before the second of any, so that no user fills the list.
const selectDue = prepared((q: Queries, input: { max: number }): Query<DueWebhook> => {
  const state = sql.lit('waiting' satisfies DeliveryState);
  const text = sql<DueWebhook>`
    with recursive stepped (webhook_id) as (
      select min(webhook_id) from deliveries where state = ${state}
      union all
      select (select min(d.webhook_id) from deliveries d
        where d.state = ${state} and d.webhook_id > stepped.webhook_id)
      from stepped where stepped.webhook_id is not null),
    waiting as (
      select webhook_id, (select min(d.next_at) from deliveries d
        where d.state = ${state} and d.webhook_id = stepped.webhook_id) as due_at
      from stepped where webhook_id is not null)
    select webhook_id, user_id, due_at from (
      select waiting.webhook_id, webhooks.user_id, waiting.due_at,
        row_number() over (partition by webhooks.user_id order by waiting.due_at) as place
      from waiting left join webhooks on webhooks.id = waiting.webhook_id
      where waiting.due_at <= ${q.now}) as due
    order by place, due_at limit ${input.max}`;
  return { compile: () => text.compile(q.build) };
});

const selectAnyWaiting = prepared((q: Queries, _: object) =>
  q.build
    .selectFrom('deliveries')
    .select('id')
    .where('state', '=', sql.lit('waiting' satisfies DeliveryState))
    .limit(1),
);

/** Webhooks with due deliveries: the longest waiting of each user, then the second of each, and so on. */
export const listDue = read('deliveries.listDue', function* (q, max: number): Steps<DueWebhook[]> {
  // Usually there are none, and the query above is not needed.
  if ((yield* one(selectAnyWaiting(q, {}))) === undefined) return [];
  return yield* rows(selectDue(q, { max }));
});

interface ClaimInput {
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
  /** The trace of its conversation; null unless traces are recorded. */
  readonly traceparent: string | null;
  /** Including this one. */
  readonly attempts: number;
  readonly url: string;
  readonly sealed: string;
  readonly format: string;
  /** Nobody else sends it before this time, which also identifies the claim. */
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
    .select((e) =>
      e
        .selectFrom('conversations')
        .select('conversations.traceparent')
        .whereRef('conversations.key', '=', 'deliveries.conversation_key')
        .as('traceparent'),
    )
    .where('state', '=', 'waiting' satisfies DeliveryState)
    .where('webhook_id', '=', webhookId)
    .where('next_at', '<=', q.now)
    .orderBy('next_at')
    .orderBy('id')
    .limit(max);
  return q.kind === 'postgres' ? query.forUpdate().skipLocked() : query;
}

/** Claims deliveries. One whose process dies is due again when its lease expires. */
export const claimDeliveries = write(
  'deliveries.claim',
  function* (q, { webhooks, leaseMs }: ClaimInput): Steps<ClaimedDelivery[]> {
    const claimed: ClaimedDelivery[] = [];
    for (const { id, max } of webhooks) {
      const webhook = yield* one(
        q.build.selectFrom('webhooks').select(['url', 'sealed', 'format']).where('id', '=', id),
      );
      // The webhook was deleted a moment ago.
      if (webhook === undefined) continue;
      const due = yield* rows(selectClaimable(q, id, max));
      if (due.length === 0) continue;
      const ids = due.map((delivery) => delivery.id);
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

/** The JSON of an event; undefined if its conversation was deleted. */
export const findDeliveredEvent = read('deliveries.findEvent', function* (q, place: EventPosition): Steps<
  string | undefined
> {
  const found = yield* one(
    q.build
      .selectFrom('events')
      .innerJoin('conversations', (join) => join.on('conversations.key', '=', place.conversationKey))
      .select('events.json')
      .where('events.place', '=', eventKeyOf(place.conversationKey, place.eventId))
      .where('conversations.user_id', '=', place.userId)
      .where('conversations.id', '=', place.conversationId),
  );
  return found?.json;
});

/** It was delivered, or there is nothing to send any more. */
export const finishDelivery = repeatableWrite('deliveries.finish', function* (q, id: string): Steps<void> {
  yield* rows(q.build.deleteFrom('deliveries').where('id', '=', id));
});

interface FailedAttempt {
  readonly id: string;
  readonly leasedUntil: number;
  readonly status: number | null;
  readonly error: string;
  /** Null if it must not be retried. */
  readonly retryAfterMs: number | null;
  readonly giveUpAfterMs: number;
}

/** Schedules a retry or gives up. Does nothing if another process has claimed it meanwhile. */
export const recordFailedAttempt = repeatableWrite(
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

interface Adjustment {
  /** The longest possible delay, indexed by the number of attempts; the last one applies to all further attempts. */
  readonly delaysMsMax: readonly number[];
  readonly leaseMs: number;
  readonly max: number;
}

/**
 * Repairs deliveries that are due later than any delay allows, because the clock was set back. New ones become due now,
 * attempted ones when an attempt in progress would be over. Changes at most `max` and returns how many.
 */
export const adjustDue = repeatableWrite(
  'deliveries.adjustDue',
  function* (q, { delaysMsMax, leaseMs, max }: Adjustment): Steps<number> {
    const cases = delaysMsMax.map((ms, attempts) => sql`when ${sql.lit(attempts)} then ${sql.lit(ms)}`);
    const longest = sql<number>`case attempts ${sql.join(cases, sql` `)} else ${sql.lit(delaysMsMax.at(-1) ?? 0)} end`;
    const late = q.build
      .selectFrom('deliveries')
      .select('id')
      .where('state', '=', 'waiting' satisfies DeliveryState)
      .where('next_at', '>', sql<number>`${q.now} + ${longest}`)
      .limit(max);
    const adjusted = yield* rows(
      q.build
        .updateTable('deliveries')
        .set({ next_at: sql<number>`${q.now} + case attempts when 0 then 0 else ${sql.lit(leaseMs)} end` })
        .where('id', 'in', late)
        .returning('id'),
    );
    return adjusted.length;
  },
);

export const outboxTransactions = [
  adjustDue,
  listDue,
  claimDeliveries,
  findDeliveredEvent,
  findLastMessages,
  finishDelivery,
  recordFailedAttempt,
];
