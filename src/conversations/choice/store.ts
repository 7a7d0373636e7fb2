// The agent and the model that were chosen for a conversation.
import { one, prepared, type Queries, read, type Steps } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';

export interface StoredChoice {
  /** Null means the one in the settings. */
  readonly agent: string | null;
  readonly llm_model: string | null;
}

const selectChoice = prepared((q: Queries, { key }: { key: number }) =>
  q.build.selectFrom('conversations').select(['agent', 'llm_model']).where('key', '=', key),
);

/** By the internal key, for the run of a conversation. */
export const readChoice = read('choice.read', function* (q, key: number): Steps<StoredChoice | undefined> {
  return yield* one(selectChoice(q, { key }));
});

export const findChoice = read('choice.find', function* (q, { userId, id }: ConversationName): Steps<
  StoredChoice | undefined
> {
  return yield* one(
    q.build
      .selectFrom('conversations')
      .select(['agent', 'llm_model'])
      .where('user_id', '=', userId)
      .where('id', '=', id),
  );
});

export const choiceTransactions = [readChoice, findChoice];
