// Takes feedback about conversations, and returns it to its user.
import type { Database } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import type { Principal } from '../../keys/principal.ts';
import { conversationName, noConversation } from '../id.ts';
import type { FeedbackList, FeedbackRecord, NewFeedback } from './schema.ts';
import { addFeedback, listFeedback } from './store.ts';

const perUserMax = 1_000;

export type Feedback = ReturnType<typeof createFeedback>;

export function createFeedback({ database, nextId }: { database: Database; nextId: () => string }) {
  /** Returns its id. */
  async function add(principal: Principal, id: string, feedback: NewFeedback): Promise<string> {
    const { polarity, comment = '', email = '', version = '', permissions = 'private' } = feedback;
    const feedbackId = nextId();
    const outcome = await database.run(addFeedback, {
      ...conversationName(principal, id),
      ...{ feedbackId, perUserMax, polarity, comment, email, version, permissions },
    });
    if (outcome === 'missing') throw noConversation();
    if (outcome === 'too_many')
      throw new AppError(
        'limit_reached',
        `You have stored feedback ${perUserMax} times, which is the maximum.`,
      );
    return feedbackId;
  }

  async function list({ userId }: Principal): Promise<FeedbackList> {
    const stored = await database.run(listFeedback, { userId });
    const results = stored.map(
      ({ user_id: _, conversation_key: __, created_at, ...fields }): FeedbackRecord => ({
        ...(fields as Omit<FeedbackRecord, 'created_at'>),
        created_at: new Date(Number(created_at)).toISOString(),
      }),
    );
    return { results };
  }

  return { add, list };
}
