// Serializes a change as it is stored and sent.
import type { Change } from './schema.ts';

export function changeText({ conversation_id, status, agent_state, title, stop_reason, at }: Change): string {
  return JSON.stringify({ conversation_id, status, agent_state, title, stop_reason, at });
}
