// Serializes a change as it is stored and sent.
import type { Change } from './schema.ts';

export function changeText(change: Required<Change>): string {
  const { conversation_id, status, agent_state, title, stop_reason, at, pinned, archived, unread } = change;
  return JSON.stringify({
    conversation_id,
    status,
    agent_state,
    title,
    stop_reason,
    at,
    pinned,
    archived,
    unread,
  });
}
