// Cancels what the agent works on. The conversation goes on, and waits for its user.
import { conversationTopic, userTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { eventText, userCancels } from '../../events/shapes.ts';
import type { Principal } from '../../keys/principal.ts';
import { answerStatus, type ConversationResponse } from '../create/schema.ts';
import { conversationName, noConversation } from '../id.ts';
import { cancelTurn } from './store.ts';

export type Cancellations = ReturnType<typeof createCancellations>;

interface CancellationsOptions {
  readonly database: Database;
  readonly clock?: () => number;
}

export function createCancellations({ database, clock = Date.now }: CancellationsOptions) {
  /** Does nothing if there is nothing to cancel. */
  async function cancel(principal: Principal, id: string): Promise<ConversationResponse> {
    const at = new Date(clock()).toISOString();
    const outcome = await database.run(cancelTurn, {
      ...conversationName(principal, id),
      event: eventText(userCancels, at),
      at,
    });
    if (outcome === undefined) throw noConversation();
    database.notify([conversationTopic(outcome.key), userTopic(principal.userId)]);
    return answerStatus(id, outcome.status);
  }

  return { cancel };
}
