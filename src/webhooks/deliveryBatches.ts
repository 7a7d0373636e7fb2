// Inserts new deliveries, many per query, with queries that are compiled once.
import { prepared, type Queries, type Query, rows, type Steps } from '../db/transaction.ts';
import { createIds } from '../process/ids.ts';
import type { DeliveryState, WebhookEvent } from './schema.ts';

const batchSizes = [50, 4, 1] as const;

/**
 * Increasing ids keep the deliveries of a transaction in order. Each writing thread has its own generator, because a
 * function cannot be passed to the SQLite thread.
 */
const nextId = createIds();

/** The conversation that deliveries are about. */
export interface DeliverySource {
  readonly userId: number;
  readonly conversationKey: number;
  readonly conversationId: string;
}

export interface NewDelivery {
  readonly webhook: string;
  readonly type: WebhookEvent;
  readonly payload: string | null;
  readonly event: number | null;
}

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

/** Inserts the deliveries in order, many per query. */
export function* insertDeliveries(
  q: Queries,
  source: DeliverySource,
  deliveries: readonly NewDelivery[],
): Steps<void> {
  let done = 0;
  for (const { size, insert } of batches) {
    for (; deliveries.length - done >= size; done += size) {
      const batch: Batch = {
        user: source.userId,
        key: source.conversationKey,
        conversation: source.conversationId,
      };
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
