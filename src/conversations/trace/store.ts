// The trace of the last request that gave a conversation work. Nothing is stored here unless traces are recorded.
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';

interface NewTrace extends ConversationName {
  readonly traceparent: string;
}

/** Must be committed before the request itself, so that a run that hears of the request finds its trace. */
export const setTrace = repeatableWrite(
  'conversations.setTrace',
  function* (q: Queries, input: NewTrace): Steps<void> {
    const { userId, id, traceparent } = input;
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ traceparent })
        .where('user_id', '=', userId)
        .where('id', '=', id),
    );
  },
);

export const readTrace = read('conversations.readTrace', function* (q: Queries, key: number): Steps<
  string | null
> {
  const found = yield* one(q.build.selectFrom('conversations').select('traceparent').where('key', '=', key));
  return found?.traceparent ?? null;
});

export const traceTransactions = [setTrace, readTrace];
