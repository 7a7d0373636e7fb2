// The open approval request of a conversation. It is answered once, by whoever answers first.

import { one, type Queries, rows, type Steps, write } from '../../db/transaction.ts';
import type { EventText } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';
import { appendEvents, type LockedConversation, lockedColumns, recordAgentState } from '../row.ts';

interface Answer extends ConversationName {
  /** The event of the approval request; null for whichever is open. */
  readonly question: number | null;
  readonly events: readonly EventText[];
  /** The time of the answer, as text for the log. */
  readonly at: string;
}

/**
 * The key of the conversation. `none`: no request is open, or another one is. Undefined: there is no such conversation.
 */
export type AnswerOutcome = { readonly key: number } | 'none' | undefined;

function findConversation(q: Queries, { userId, id }: ConversationName) {
  return q.build.selectFrom('conversations').select('key').where('user_id', '=', userId).where('id', '=', id);
}

/** Adds the answer to the log, where the run reads it. */
export const answerApprovalRequest = write(
  'confirmations.answer',
  function* (q, input: Answer): Steps<AnswerOutcome> {
    const { userId, id, question, events, at } = input;
    const open = q.build
      .updateTable('conversations')
      .set({ question: null, active_at: q.now })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .where('status', '=', 'RUNNING')
      .where('question', 'is not', null)
      .returning([...lockedColumns]);
    const locked = (yield* one(question === null ? open : open.where('question', '=', question))) as
      | LockedConversation
      | undefined;
    if (locked === undefined)
      return (yield* rows(findConversation(q, input))).length === 0 ? undefined : 'none';
    yield* appendEvents(q, locked, events);
    yield* recordAgentState(q, locked, at);
    return { key: locked.key };
  },
);

export const confirmationTransactions = [answerApprovalRequest];
