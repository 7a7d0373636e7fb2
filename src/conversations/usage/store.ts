// Adds up the model usage of a conversation.

import { addSpending, releaseReservations } from '../../budgets/store.ts';
import { one, read, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';
import { addToUsage, readAllUsage } from './columns.ts';
import { type UsageColumns, usageColumns } from './shape.ts';

interface Addition extends UsageColumns {
  readonly key: number;
  readonly userId: number;
  /** The budget reservations of the requests that caused this usage. They are released. */
  readonly released?: readonly string[];
}

/** Usage always counts, even if the run has lost its conversation. */
export const addUsage = write('usage.add', function* (q, input: Addition): Steps<void> {
  const { key, userId, released = [], ...added } = input;
  yield* rows(
    q.build
      .updateTable('conversations')
      .set(Object.fromEntries(usageColumns.map((name) => [name, addToUsage(q.kind, name, added[name])])))
      .where('key', '=', key),
  );
  if (added.cost_nanos > 0) yield* addSpending(q, userId, added.cost_nanos);
  yield* releaseReservations(q, released);
});

export const findUsage = read('usage.find', function* (q, { userId, id }: ConversationName): Steps<
  UsageColumns | undefined
> {
  return yield* one(
    q.build
      .selectFrom('conversations')
      .select(readAllUsage(q.kind))
      .where('user_id', '=', userId)
      .where('id', '=', id),
  );
});

export const usageTransactions = [addUsage, findUsage];
