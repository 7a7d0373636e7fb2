// Decides which changes play a sound: a conversation stopped by itself, or its agent waits for the user.
import type { Change } from '../../../src/client/parley.ts';
import { stoppedByItself } from '../components/status.ts';

/** The returned function must see every change, in order. */
export function createNotificationFilter(): (change: Change) => boolean {
  const last = new Map<string, string>();
  return (change) => {
    const { conversation_id: id, status, agent_state } = change;
    const before = last.get(id);
    const now = agent_state ?? status ?? '';
    if (status === null) last.delete(id);
    else last.set(id, now);
    // Only the title has changed.
    if (before === now) return false;
    // Before the first turn the agent always waits for a moment.
    if (agent_state === 'awaiting_user_input') return before === 'running';
    return agent_state === 'awaiting_user_confirmation' || stoppedByItself(change);
  };
}
