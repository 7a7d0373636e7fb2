// Rows of webhooks, and the messages for them: written in the transaction of what they tell, so that none is lost.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import { one, prepared, type Queries, type Query, read, rows, type Steps, write } from '../db/transaction.ts';
import { createIds } from '../ids.ts';
import { sealedWithActiveKey } from '../secrets/store.ts';
import type { DeliveryState, WebhookEvent } from './schema.ts';

/** Webhooks that one user may keep. */
export const webhooksMax = 20;
/** Messages of a webhook are counted up to here. */
const countedMax = 10_000;
const batchSizes = [50, 4, 1] as const;

/** Growing ids keep the messages of a transaction in order. */
const nextId = createIds();

export interface Happening {
  readonly userId: number;
  readonly conversationKey: number;
  readonly conversationId: string;
  /** JSON of the status change: becomes `data` of a conversation.status message. */
  readonly status?: string | undefined;
  /** Events just appended: ids first .. first+count-1. */
  readonly events?: { readonly first: number; readonly count: number } | undefined;
}

interface NewDelivery {
  readonly webhook: string;
  readonly type: WebhookEvent;
  readonly payload: string | null;
  readonly event: number | null;
}

// The key-share lock makes a deletion of the webhook wait, and so find what is recorded here.
const selectWanted = prepared((q: Queries, input: { userId: number }) => {
  const query = q.build.selectFrom('webhooks').select(['id', 'events']).where('user_id', '=', input.userId);
  return q.kind === 'postgres' ? query.forKeyShare() : query;
});

type Batch = Record<string, number | string | null>;

function insertBatch(size: number): (q: Queries, batch: Batch) => Query<unknown> {
  const place = Array.from({ length: size }, (_, i) => i);
  return prepared((q: Queries, batch: Batch) =>
    q.build.insertInto('deliveries').values(
      place.map((i) => ({
        id: batch[`id${i}`] as string,
        webhook_id: batch[`webhook${i}`] as string,
        user_id: batch['user'] as number,
        conversation_key: batch['key'] as number,
        conversation_id: batch['conversation'] as string,
        type: batch[`type${i}`] as string,
        payload: batch[`payload${i}`] as string | null,
        event_id: batch[`event${i}`] as number | null,
        created_at: q.now,
        state: 'waiting' satisfies DeliveryState,
        since: q.now,
        attempts: 0,
        next_at: q.now,
        last_status: null,
        last_error: null,
      })),
    ),
  );
}

const batches = batchSizes.map((size) => ({ size, insert: insertBatch(size) }));

function* insertDeliveries(q: Queries, h: Happening, deliveries: readonly NewDelivery[]): Steps<void> {
  let done = 0;
  for (const { size, insert } of batches) {
    for (; deliveries.length - done >= size; done += size) {
      const batch: Batch = { user: h.userId, key: h.conversationKey, conversation: h.conversationId };
      for (const [i, delivery] of deliveries.slice(done, done + size).entries()) {
        batch[`id${i}`] = `msg_${nextId()}`;
        batch[`webhook${i}`] = delivery.webhook;
        batch[`type${i}`] = delivery.type;
        batch[`payload${i}`] = delivery.payload;
        batch[`event${i}`] = delivery.event;
      }
      yield* rows(insert(q, batch));
    }
  }
}

/** The messages of one happening for one webhook, in the order in which they are to be sent. */
function messagesFor({ id, events: text }: { id: string; events: string }, h: Happening): NewDelivery[] {
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
export function* recordDeliveries(q: Queries, happening: Happening): Steps<void> {
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

export interface WebhookRow {
  readonly id: string;
  readonly user_id: number;
  readonly user: string;
  readonly url: string;
  readonly events: string;
  readonly description: string | null;
  readonly created_at: number;
  readonly waiting: number;
  readonly failed: number;
}

function countOf(q: Queries, state: DeliveryState) {
  const counted = q.build
    .selectFrom('deliveries')
    .select('deliveries.id')
    .where('deliveries.state', '=', state)
    .where('deliveries.webhook_id', '=', sql.ref<string>('webhooks.id'))
    .limit(countedMax);
  return sql<number>`(select count(*) from ${counted} as counted)`;
}

function selectWebhooks(q: Queries) {
  return q.build
    .selectFrom('webhooks')
    .innerJoin('users', 'users.id', 'webhooks.user_id')
    .select([
      'webhooks.id',
      'webhooks.user_id',
      'users.name as user',
      'webhooks.url',
      'webhooks.events',
      'webhooks.description',
      'webhooks.created_at',
      countOf(q, 'waiting').as('waiting'),
      countOf(q, 'failed').as('failed'),
    ]);
}

/** Webhooks of one user, or of all, oldest first. */
export const listWebhooks = read('webhooks.list', function* (q, input: { userId?: number }): Steps<
  WebhookRow[]
> {
  const query = selectWebhooks(q).orderBy('webhooks.id');
  return yield* rows(input.userId === undefined ? query : query.where('user_id', '=', input.userId));
});

export interface NewWebhookRow {
  readonly id: string;
  readonly userId: number;
  readonly url: string;
  readonly events: string;
  readonly sealed: string;
  readonly description: string | null;
  /** The key that makes it, for the audit. */
  readonly by: string;
}

export type CreateWebhookOutcome =
  | { readonly outcome: 'created'; readonly webhook: WebhookRow }
  | { readonly outcome: 'too_many' }
  /** The sealing key was rotated meanwhile: nothing is stored; seal anew and repeat. */
  | { readonly outcome: 'stale_seal' };

export const createWebhook = write(
  'webhooks.create',
  function* (q, { by, userId, ...webhook }: NewWebhookRow): Steps<CreateWebhookOutcome> {
    if (!(yield* sealedWithActiveKey(q, [webhook.sealed]))) return { outcome: 'stale_seal' };
    // Makes other writers of this user's webhooks wait, so that the bound holds.
    yield* rows(
      q.build
        .updateTable('users')
        .set((e) => ({ name: e.ref('name') }))
        .where('id', '=', userId),
    );
    const held = yield* rows(q.build.selectFrom('webhooks').select('id').where('user_id', '=', userId));
    if (held.length >= webhooksMax) return { outcome: 'too_many' };
    yield* rows(q.build.insertInto('webhooks').values({ ...webhook, user_id: userId, created_at: q.now }));
    yield* recordAudit(q, [{ userId, keyId: by, action: 'webhook.create', subject: webhook.id }]);
    const made = yield* one(selectWebhooks(q).where('webhooks.id', '=', webhook.id));
    if (made === undefined) throw new Error('the webhook that was just made is gone');
    return { outcome: 'created', webhook: made };
  },
);

export interface WebhookRemoval {
  readonly id: string;
  readonly userId: number;
  readonly by: string;
}

/** Deletes the webhook; its messages are deleted after it. False: no such webhook, or not that user's. */
export const deleteWebhook = write(
  'webhooks.delete',
  function* (q, { id, userId, by }: WebhookRemoval): Steps<boolean> {
    const deleted = yield* one(
      q.build.deleteFrom('webhooks').where('id', '=', id).where('user_id', '=', userId).returning('id'),
    );
    if (deleted === undefined) return false;
    yield* recordAudit(q, [{ userId, keyId: by, action: 'webhook.delete', subject: id }]);
    return true;
  },
);

export const webhookTransactions = [listWebhooks, createWebhook, deleteWebhook];
