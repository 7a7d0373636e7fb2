// Sends commands that the user typed to the sandbox of a running conversation. Nobody is asked for approval.
import { conversationTopic, userTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import { eventText, userCommand } from '../../events/shapes.ts';
import type { Principal } from '../../keys/principal.ts';
import { conversationName, noConversation } from '../id.ts';
import { addCommand } from './store.ts';

/** The running one included. */
const waitingMax = 10;

export type Commands = ReturnType<typeof createCommands>;

interface CommandsOptions {
  readonly database: Database;
  readonly nextId: () => string;
  readonly clock?: () => number;
}

export function createCommands({ database, nextId, clock = Date.now }: CommandsOptions) {
  /** The run executes it after those before it. */
  async function send(principal: Principal, id: string, command: string): Promise<void> {
    const event = eventText(userCommand(command, `user-${nextId()}`), new Date(clock()).toISOString());
    const name = conversationName(principal, id);
    const outcome = await database.run(addCommand, { ...name, event, waitingMax });
    if (outcome === undefined) throw noConversation();
    if (outcome === 'not_running')
      throw new AppError('not_running', 'The conversation is not running. Start it, and try again.');
    if (outcome === 'busy')
      throw new AppError('limit_reached', `${waitingMax} commands are waiting already; try again later.`);
    database.notify([conversationTopic(outcome.key), userTopic(principal.userId)]);
  }

  return { send };
}
