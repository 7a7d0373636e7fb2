// Messages that wait: written in the transaction of what they tell, so that none is lost, then claimed by one process
// at a time, sent, tried again, given up.
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
import { placeOf } from '../events/place.ts';
import { type DeliverySource, insertDeliveries, type NewDelivery } from './deliveryBatches.ts';
import type { DeliveryState, WebhookEvent } from './schema.ts';

function later(q: Queries, ms: number) {
  return sql<number>`${q.now} + ${Math.round(ms)}`;
}

interface Occurrence extends DeliverySource {
  /** JSON of the status change: becomes `data` of a conversation.status message. */
  readonly status?: string | undefined;
  /** Events just appended: ids first .. first+count-1. */
  readonly events?: { readonly first: number; readonly count: number } | undefined;
}

// The key-share lock makes a deletion of the webhook wait, and so find what is recorded here.
const selectWanted = prepared((q: Queries, input: { userId: number }) => {
  const query = q.build.selectFrom('webhooks').select(['id', 'events']).where('user_id', '=', input.userId);
  return q.kind === 'postgres' ? query.forKeyShare() : query;
});

/** The messages of one happening for one webhook, in the order in which they are to be sent. */
function messagesFor({ id, events: text }: { id: string; events: string }, h: Occurrence): NewDelivery[] {
  const wanted = new Set(JSON.parse(text) as WebhookEvent[]);
  const messages: NewDelivery[] = [];
  if (h.status !== undefined && wanted.has('conversation.status'))
    messages.push({ webhook: id, type: 'conversation.status', payload: h.status, event: null });
  if (h.events !== undefined && wanted.has('conversation.event'))
    for (let i = 0; i < h.events.count; i++)
      messages.push({ webhook: id, type: 'conversation.event', payload: null, event: h.events.first + i });
  return messages;
}

/** To be called in the transaction of the change: one row for each webhook that wants it. */
export function* recordDeliveries(q: Queries, happening: Occurrence): Steps<void> {
  const webhooks = yield* rows(selectWanted(q, { userId: happening.userId }));
  for (const webhook of webhooks) yield* insertDeliveries(q, happening, messagesFor(webhook, happening));
}

/** The conversation is deleted: what waits of its events goes with it (its status messages stay). */
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
  /** Null: it is gone, but its deletion was interrupted. */
  readonly user_id: number | null;
  /** When its oldest message was to be sent. */
  readonly due_at: number;
}

// Steps from webhook to webhook by the index, so that it costs the same however many messages wait for each. The first
// of every user come before the second of any, so that nobody's webhooks fill the list.
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

/** Webhooks with messages to send: the longest waiting of each user, then the second of each, and so on. */
export const listDue = read('deliveries.listDue', function* (q, max: number): Steps<DueWebhook[]> {
  // Mostly there are none, which needs none of the stepping.
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
      // Deleted a moment ago.
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

interface EventPosition {
  readonly userId: number;
  readonly conversationKey: number;
  readonly conversationId: string;
  readonly eventId: number;
}

/** The JSON of an event. Undefined where its conversation is gone. */
export const findDeliveredEvent = read('deliveries.findEvent', function* (q, place: EventPosition): Steps<
  string | undefined
> {
  const found = yield* one(
    q.build
      .selectFrom('events')
      .innerJoin('conversations', (join) => join.on('conversations.key', '=', place.conversationKey))
      .select('events.json')
      .where('events.place', '=', placeOf(place.conversationKey, place.eventId))
      .where('conversations.user_id', '=', place.userId)
      .where('conversations.id', '=', place.conversationId),
  );
  return found?.json;
});

/** It has arrived, or there is nothing to send any more. */
export const finishDelivery = repeatableWrite('deliveries.finish', function* (q, id: string): Steps<void> {
  yield* rows(q.build.deleteFrom('deliveries').where('id', '=', id));
});

interface FailedAttempt {
  readonly id: string;
  readonly leasedUntil: number;
  readonly status: number | null;
  readonly error: string;
  /** Null: there is no point in trying again. */
  readonly retryAfterMs: number | null;
  readonly giveUpAfterMs: number;
}

/** Tries again later, or gives up. Changes nothing where somebody else has claimed it meanwhile. */
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
  finishDelivery,
  recordFailedAttempt,
];
