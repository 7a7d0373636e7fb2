// Answers to approval requests. Each is an event of the user that the run finds in the log.

import { conversationTopic, userTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import type { Decision } from '../../events/decoder/words.ts';
import { eventText } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import type { Principal } from '../../keys/principal.ts';
import { conversationName, noConversation } from '../id.ts';
import type { Confirmation } from './schema.ts';
import { answerApprovalRequest } from './store.ts';

export type Confirmations = ReturnType<typeof createConfirmations>;

const sentences: Readonly<Record<Decision, string>> = {
  allow: 'Allowed.',
  allow_always: 'Allowed, and the same from now on.',
  reject: 'Rejected.',
};

function answerEvent(decision: Decision): NewEvent {
  return {
    source: 'user',
    message: sentences[decision],
    action: 'change_agent_state',
    args: { agent_state: decision === 'reject' ? 'user_rejected' : 'user_confirmed', decision },
  };
}

export function createConfirmations({
  database,
  clock = Date.now,
}: {
  database: Database;
  clock?: () => number;
}) {
  /** Throws if no approval request is open, or another one than the caller named. */
  async function answer(
    principal: Principal,
    id: string,
    { decision, question }: Confirmation,
  ): Promise<void> {
    const at = new Date(clock()).toISOString();
    const outcome = await database.run(answerApprovalRequest, {
      ...conversationName(principal, id),
      question: question ?? null,
      events: [eventText(answerEvent(decision), at)],
      at,
    });
    if (outcome === undefined) throw noConversation();
    if (outcome === 'none')
      throw new AppError(
        'nothing_to_confirm',
        'No approval request is waiting for this answer; it may have been answered already, or it has expired.',
      );
    database.notify([conversationTopic(outcome.key), userTopic(principal.userId)]);
  }

  return { answer };
}
