// Cancels the turn of a conversation, and messages that wait for one. It is an event of the user that the run finds in
// the log, so that it survives the run and reaches it in any process.
import { sql } from 'kysely';
import { one, type Queries, repeatableWrite, type Steps } from '../../db/transaction.ts';
import type { EventText } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';
import {
  appendEvents,
  type LockedConversation,
  lockedColumns,
  type Moment,
  recordAgentState,
} from '../row.ts';
import type { ConversationStatus } from '../states.ts';

interface Cancellation extends ConversationName, Moment {
  readonly event: EventText;
}

interface CancelOutcome {
  readonly key: number;
  readonly status: ConversationStatus;
}

/** A turn, or a message that the agent was not given yet, unless these were cancelled already. */
const somethingToCancel = sql<boolean>`status <> 'STOPPED' and (
  (turn_open = 1 and heard > cancelled) or (said > heard and said > cancelled))`;

function findConversation(q: Queries, { userId, id }: ConversationName) {
  return q.build
    .selectFrom('conversations')
    .select(['key', 'status'])
    .where('user_id', '=', userId)
    .where('id', '=', id);
}

/**
 * Adds the event if there is something to cancel, and closes the approval request. Returns undefined if there is no such
 * conversation.
 */
export const cancelTurn = repeatableWrite('lifecycle.cancel', function* (q, input: Cancellation): Steps<
  CancelOutcome | undefined
> {
  const { userId, id, event, at } = input;
  const locked = (yield* one(
    q.build
      .updateTable('conversations')
      .set({
        cancelled: sql<number>`next_event + 1`,
        question: null,
        active_at: sql<number>`case when run_id is null then active_at else ${q.now} end`,
      })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .where(somethingToCancel)
      .returning([...lockedColumns]),
  )) as LockedConversation | undefined;
  if (locked === undefined) return (yield* one(findConversation(q, input))) as CancelOutcome | undefined;
  yield* appendEvents(q, locked, [event]);
  yield* recordAgentState(q, locked, at);
  return { key: locked.key, status: locked.status };
});

export const cancelTransactions = [cancelTurn];
