// Which changes of conversations somebody wants to hear of: one that ended by itself, an agent that waits.
import type { Change } from '../../../src/client/parley.ts';
import { stoppedByItself } from '../components/status.ts';

/** Looks at each change, in order. True: it is worth a sound. */
export function createNews(): (change: Change) => boolean {
  const last = new Map<string, string>();
  return (change) => {
    const { conversation_id: id, status, agent_state } = change;
    const before = last.get(id);
    const now = agent_state ?? status ?? '';
    if (status === null) last.delete(id);
    else last.set(id, now);
    // Only its title is another.
    if (before === now) return false;
    // Before its first turn it waits for a moment, which is nothing new.
    if (agent_state === 'awaiting_user_input') return before === 'running';
    return agent_state === 'awaiting_user_confirmation' || stoppedByItself(change);
  };
}
