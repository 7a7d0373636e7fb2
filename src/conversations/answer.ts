// The four members that creating, starting and stopping answer with.
import type { ConversationStatus } from '../lifecycle/states.ts';
import type { ConversationResponse } from './schema.ts';

const waitsMessage =
  'Stored. This version of Parley has no worker that runs agents yet, so the conversation stays in STARTING.';

export function answerStatus(id: string, status: ConversationStatus): ConversationResponse {
  const message = status === 'STARTING' ? waitsMessage : null;
  return { status: 'ok', conversation_id: id, message, conversation_status: status };
}
