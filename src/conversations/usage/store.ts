// Adds up the model usage of a conversation.

import { one, read, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';
import { addToUsage, readAllUsage } from './columns.ts';
import { type UsageColumns, usageColumns } from './shape.ts';

interface Addition extends UsageColumns {
  readonly key: number;
}

/** Usage always counts, even if the run has lost its conversation. */
export const addUsage = write('usage.add', function* (q, { key, ...added }: Addition): Steps<void> {
  yield* rows(
    q.build
      .updateTable('conversations')
      .set(Object.fromEntries(usageColumns.map((name) => [name, addToUsage(q.kind, name, added[name])])))
      .where('key', '=', key),
  );
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
