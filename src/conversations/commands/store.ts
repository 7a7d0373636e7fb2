// Commands of the user for the sandbox of a run. Each is an event that the run finds in the log.
import { sql } from 'kysely';
import { one, type Queries, rows, type Steps, write } from '../../db/transaction.ts';
import type { EventText } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';
import { appendEvents, type LockedConversation, lockedColumns } from '../row.ts';

interface Command extends ConversationName {
  readonly event: EventText;
  /** How many may wait for the run. */
  readonly waitingMax: number;
}

/** `busy`: too many wait. `not_running`: no run could take it. Undefined: there is no such conversation. */
export type CommandOutcome = { readonly key: number } | 'busy' | 'not_running' | undefined;

function findWaiting(q: Queries, { userId, id }: ConversationName) {
  return q.build
    .selectFrom('conversations')
    .select('commands')
    .where('user_id', '=', userId)
    .where('id', '=', id);
}

export const addCommand = write('commands.add', function* (q, input: Command): Steps<CommandOutcome> {
  const { userId, id, event, waitingMax } = input;
  const locked = (yield* one(
    q.build
      .updateTable('conversations')
      .set({
        active_at: q.now,
        commands: sql<number>`commands + 1`,
        command_from: sql<number>`coalesce(command_from, next_event)`,
      })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .where('status', '=', 'RUNNING')
      .where('run_id', 'is not', null)
      .where('wanted', 'is', null)
      .where('commands', '<', waitingMax)
      .returning([...lockedColumns]),
  )) as LockedConversation | undefined;
  if (locked === undefined) {
    const [found] = yield* rows(findWaiting(q, input));
    if (found === undefined) return undefined;
    return found.commands < waitingMax ? 'not_running' : 'busy';
  }
  yield* appendEvents(q, locked, [event]);
  return { key: locked.key };
});

export const commandTransactions = [addCommand];
