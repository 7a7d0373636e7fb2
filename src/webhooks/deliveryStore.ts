// Deliveries for their owner: lists pending and failed ones, redelivers them, and deletes old ones.
import { sql } from 'kysely';
import { one, type Queries, read, repeatableWrite, rows, type Steps, write } from '../db/transaction.ts';
import type { DeliveryState } from './schema.ts';

export interface DeliveryRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly type: string;
  readonly conversation_id: string;
  readonly state: string;
  readonly created_at: number;
  readonly attempts: number;
  readonly next_at: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

interface DeliveryFilter {
  readonly webhookId: string;
  /** The required owner of the webhook; any user if absent. */
  readonly userId?: number;
  readonly states: readonly DeliveryState[];
  /** Only deliveries with a smaller id. */
  readonly before?: string | undefined;
  readonly max: number;
}

function* ownsWebhook(q: Queries, { webhookId, userId }: Pick<DeliveryFilter, 'webhookId' | 'userId'>) {
  const webhook = yield* one(q.build.selectFrom('webhooks').select('user_id').where('id', '=', webhookId));
  return webhook !== undefined && webhook.user_id === (userId ?? webhook.user_id);
}

/** Newest first. Undefined if the user has no such webhook. */
export const listDeliveries = read('deliveries.list', function* (q, filter: DeliveryFilter): Steps<
  DeliveryRow[] | undefined
> {
  if (!(yield* ownsWebhook(q, filter))) return undefined;
  const found: DeliveryRow[] = [];
  for (const state of filter.states) {
    const query = q.build
      .selectFrom('deliveries')
      .select([
        'id',
        'webhook_id',
        'type',
        'conversation_id',
        'state',
        'created_at',
        'attempts',
        'next_at',
        'last_status',
        'last_error',
      ])
      .where('webhook_id', '=', filter.webhookId)
      .where('state', '=', state)
      .orderBy('id', 'desc')
      .limit(filter.max);
    found.push(...(yield* rows(filter.before === undefined ? query : query.where('id', '<', filter.before))));
  }
  return found.sort((a, b) => (a.id > b.id ? -1 : 1)).slice(0, filter.max);
});

interface Redelivery {
  readonly webhookId: string;
  readonly userId?: number;
  /** One delivery; all failed ones if absent. */
  readonly deliveryId?: string | undefined;
  readonly max: number;
}

/** Makes failed deliveries pending again. Returns how many; undefined if there is no such webhook or delivery. */
export const redeliver = write(
  'deliveries.redeliver',
  function* (q, { deliveryId, max, ...of }: Redelivery): Steps<number | undefined> {
    if (!(yield* ownsWebhook(q, of))) return undefined;
    const those = q.build
      .selectFrom('deliveries')
      .select(['id', 'state'])
      .where('webhook_id', '=', of.webhookId);
    const found = yield* rows(
      deliveryId === undefined
        ? those.where('state', '=', 'failed' satisfies DeliveryState).limit(max)
        : those.where('id', '=', deliveryId),
    );
    if (found.length === 0) return deliveryId === undefined ? 0 : undefined;
    const again = yield* rows(
      q.build
        .updateTable('deliveries')
        .set({ state: 'waiting' satisfies DeliveryState, since: q.now, next_at: q.now, attempts: 0 })
        .where(
          'id',
          'in',
          found.map(({ id }) => id),
        )
        .where('state', '=', 'failed' satisfies DeliveryState)
        .returning('id'),
    );
    return again.length;
  },
);

/** The webhook of a delivery. */
export const findDeliveryWebhook = read('deliveries.findWebhook', function* (q, id: string): Steps<
  string | undefined
> {
  const found = yield* one(q.build.selectFrom('deliveries').select('webhook_id').where('id', '=', id));
  return found?.webhook_id;
});

/** Deletes deliveries of a deleted webhook, a limited number at a time. Returns how many. */
export const dropDeliveries = repeatableWrite(
  'deliveries.drop',
  function* (q, { webhookId, max }: { webhookId: string; max: number }): Steps<number> {
    const some = q.build.selectFrom('deliveries').select('id').where('webhook_id', '=', webhookId).limit(max);
    const dropped = yield* rows(q.build.deleteFrom('deliveries').where('id', 'in', some).returning('id'));
    return dropped.length;
  },
);

/** Deletes deliveries that failed long ago, a limited number at a time. Returns how many. */
export const purgeFailed = repeatableWrite(
  'deliveries.purgeFailed',
  function* (q, { keptMs, max }: { keptMs: number; max: number }): Steps<number> {
    const old = q.build
      .selectFrom('deliveries')
      .select('id')
      // Written as in the index, so that it is used.
      .where('state', '=', sql.lit<string>('failed' satisfies DeliveryState))
      .where('since', '<=', sql<number>`${q.now} - ${keptMs}`)
      .orderBy('since')
      .limit(max);
    const purged = yield* rows(q.build.deleteFrom('deliveries').where('id', 'in', old).returning('id'));
    return purged.length;
  },
);

export const deliveryTransactions = [
  listDeliveries,
  redeliver,
  findDeliveryWebhook,
  dropDeliveries,
  purgeFailed,
];
