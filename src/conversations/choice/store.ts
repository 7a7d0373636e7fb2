// The agent, the model and the approval mode that were chosen for a conversation.
import { one, prepared, type Queries, read, type Steps } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';

export interface StoredChoice {
  /** Null means the one in the settings. */
  readonly agent: string | null;
  readonly llm_model: string | null;
  /** 1 or 0. */
  readonly confirmation_mode: number | null;
}

function selectChoice(q: Queries) {
  return q.build.selectFrom('conversations').select(['agent', 'llm_model', 'confirmation_mode']);
}

const selectByKey = prepared((q: Queries, { key }: { key: number }) =>
  selectChoice(q).where('key', '=', key),
);

/** By the internal key, within another transaction. */
export function* choiceOf(q: Queries, key: number): Steps<StoredChoice | undefined> {
  return yield* one(selectByKey(q, { key }));
}

/** By the internal key, for the run of a conversation. */
export const readChoice = read('choice.read', choiceOf);

export const findChoice = read('choice.find', function* (q, { userId, id }: ConversationName): Steps<
  StoredChoice | undefined
> {
  return yield* one(selectChoice(q).where('user_id', '=', userId).where('id', '=', id));
});

export const choiceTransactions = [readChoice, findChoice];
