// The id of a conversation, and its owner.
import Type from 'typebox';
import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import { checked, text } from '../validation/schema.ts';

const idRule =
  'be 1 to 128 printable characters without spaces and without / \\ ? # %, and not . or .. alone';
/** Only visible characters, so that different ids look different, and none with a meaning in paths or URLs. */
const conversationId = /^(?!\.{1,2}$)[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}/\\?#%]{1,128}$/u;

export function isConversationId(value: string): boolean {
  return conversationId.test(value);
}

export const ConversationId = checked(
  text({
    // A character has at most four bytes in UTF-8.
    bytesMax: 4 * 128,
    // The published pattern is looser than the check below, because many validators do not support Unicode classes.
    pattern: '^[^\\s/\\\\?#%]{1,128}$',
    patternText: idRule,
    description: `An id of your choice. Sending the same request twice creates one conversation. It must ${idRule}.`,
  }),
  (value) => (isConversationId(value) ? undefined : `must ${idRule}`),
);

export const ConversationParams = Type.Object({
  id: Type.String({ maxLength: 512, description: 'Id of the conversation.' }),
});

export interface ConversationName {
  readonly userId: number;
  readonly id: string;
}

/** An invalid id names no conversation, whatever a database would make of its characters. */
export function conversationName({ userId }: Pick<Principal, 'userId'>, id: string): ConversationName {
  return { userId, id: isConversationId(id) ? id : '' };
}

/** What calls that create or change this conversation claim in a set. */
export function conversationClaim({ userId, id }: ConversationName): string {
  return `conversation ${userId} ${id}`;
}

export function noConversation(): AppError {
  return new AppError('not_found', 'This conversation does not exist.');
}
