// The four members that creating, starting and stopping answer with.
import type { ConversationStatus } from '../lifecycle/states.ts';
import type { ConversationResponse } from './schema.ts';

/** `message`: what the caller should know, in a sentence. */
export function answerStatus(
  id: string,
  status: ConversationStatus,
  message: string | null = null,
): ConversationResponse {
  return { status: 'ok', conversation_id: id, message, conversation_status: status };
}
