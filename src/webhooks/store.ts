// Stores webhooks, a limited number per user, with encrypted secrets.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import { one, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { encryptedWithActiveKey } from '../encryption/store.ts';
import type { DeliveryState } from './schema.ts';

/** How many webhooks one user may have. */
export const webhooksMax = 20;
/** Deliveries of a webhook are counted up to this number. */
const countedMax = 10_000;

export interface WebhookRow {
  readonly id: string;
  readonly user_id: number;
  readonly user: string;
  readonly url: string;
  readonly events: string;
  readonly description: string | null;
  readonly format: string;
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
      'webhooks.format',
      'webhooks.created_at',
      countOf(q, 'waiting').as('waiting'),
      countOf(q, 'failed').as('failed'),
    ]);
}

/** The webhooks of one user or of all, oldest first. */
export const listWebhooks = read('webhooks.list', function* (q, input: { userId?: number }): Steps<
  WebhookRow[]
> {
  const query = selectWebhooks(q).orderBy('webhooks.id');
  return yield* rows(input.userId === undefined ? query : query.where('user_id', '=', input.userId));
});

interface NewWebhookRow {
  readonly id: string;
  readonly userId: number;
  readonly url: string;
  readonly events: string;
  readonly sealed: string;
  readonly description: string | null;
  readonly format: string;
  /** The creating key, for the audit log. */
  readonly by: string;
}

export type CreateWebhookOutcome =
  | { readonly outcome: 'created'; readonly webhook: WebhookRow }
  | { readonly outcome: 'too_many' }
  /** The encryption key was rotated meanwhile, and nothing was stored. Encrypt again and repeat. */
  | { readonly outcome: 'stale_seal' };

export const createWebhook = write(
  'webhooks.create',
  function* (q, { by, userId, ...webhook }: NewWebhookRow): Steps<CreateWebhookOutcome> {
    if (!(yield* encryptedWithActiveKey(q, [webhook.sealed]))) return { outcome: 'stale_seal' };
    // Locks the webhooks of this user, so that the limit holds.
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

interface WebhookRemoval {
  readonly id: string;
  readonly userId: number;
  readonly by: string;
}

/** Deletes the webhook; its deliveries are deleted later. Returns false if the user has no such webhook. */
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
