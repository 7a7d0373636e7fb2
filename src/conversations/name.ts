// A conversation as its owner names it.
import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import { isConversationId } from './schema.ts';

export interface ConversationName {
  readonly userId: number;
  readonly id: string;
}

/** What cannot be an id names nothing, whatever a database would make of its characters. */
export function conversationName({ userId }: Pick<Principal, 'userId'>, id: string): ConversationName {
  return { userId, id: isConversationId(id) ? id : '' };
}

export function noConversation(): AppError {
  return new AppError('not_found', 'You have no conversation of that id.');
}
