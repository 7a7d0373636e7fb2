// Stores feedback, a limited number per user. It is deleted with its conversation.
import { one, read, rows, type Steps, write } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';
import { lockConversation } from '../row.ts';
import type { FeedbackRecord } from './schema.ts';

interface FeedbackRow
  extends ConversationName,
    Required<Omit<FeedbackRecord, 'conversation_id' | 'created_at' | 'id'>> {
  readonly feedbackId: string;
  readonly perUserMax: number;
}

/** Returns `missing` if there is no such conversation, and `too_many` if the user has stored too much. */
export const addFeedback = write('feedback.add', function* (q, input: FeedbackRow): Steps<
  'added' | 'missing' | 'too_many'
> {
  const { userId, id, feedbackId, perUserMax, ...fields } = input;
  const locked = yield* lockConversation(q, { userId, id });
  if (locked === undefined) return 'missing';
  const stored = yield* one(
    q.build
      .selectFrom('feedback')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('user_id', '=', userId),
  );
  if (Number(stored?.count ?? 0) >= perUserMax) return 'too_many';
  const owner = { user_id: userId, conversation_key: locked.key, conversation_id: id };
  yield* rows(
    q.build.insertInto('feedback').values({ id: feedbackId, ...owner, ...fields, created_at: q.now }),
  );
  return 'added';
});

/** All feedback of a user, oldest first. */
export const listFeedback = read('feedback.list', function* (q, { userId }: { userId: number }) {
  return yield* rows(
    q.build
      .selectFrom('feedback')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('created_at')
      .orderBy('id'),
  );
});

export const feedbackTransactions = [addFeedback, listFeedback];
