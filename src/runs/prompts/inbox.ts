// Reads the events of the user from the log, so that a run misses none and gets each once.
import type { Database } from '../../db/transaction.ts';
import { type DecodedEvent, decodeEvent } from '../../events/decoded.ts';
import { readEvents } from '../../events/store.ts';

const pieceEventsMax = 100;
const pieceBytesMax = 1_048_576;

type UserActions = 'action.message' | 'action.change_agent_state' | 'action.run';

const userActions: ReadonlySet<string> = new Set<UserActions>([
  'action.message',
  'action.change_agent_state',
  'action.run',
]);

/** An event of the user: a message, the answer to an approval request, a cancellation, or a command. */
export type UserEvent<Type extends UserActions = UserActions> = Extract<
  DecodedEvent,
  { readonly type: Type }
>;
export type UserMessage = UserEvent<'action.message'>;
export type UserCommand = UserEvent<'action.run'>;
export type UserAnswer = UserEvent<'action.change_agent_state'>;

/** Whether the user cancels everything before this event. */
export function isCancellation(event: UserEvent): boolean {
  return event.type === 'action.change_agent_state' && event.args.agent_state === 'awaiting_user_input';
}

interface InboxOptions {
  readonly database: Database;
  readonly key: number;
  /** The first event that was not given to the agent yet. */
  readonly from: number;
  readonly onEvent: (event: UserEvent) => void;
}

export interface Inbox {
  /** Reads new events below this id. Concurrent calls run one after another. */
  readNew(nextEvent: number): Promise<void>;
  /** Skips the ids of the run's own events. */
  skipOwn(first: number, count: number): void;
  /** The next id to read. */
  cursor(): number;
}

function parse(json: string): UserEvent | undefined {
  // Most events are the agent's, so they are not parsed.
  if (!json.includes('"source":"user"')) return undefined;
  const event = decodeEvent(JSON.parse(json));
  if (event.source !== 'user' || event.replayed === true) return undefined;
  return userActions.has(event.type) ? (event as UserEvent) : undefined;
}

export function createInbox({ database, key, from, onEvent }: InboxOptions): Inbox {
  let cursor = from;
  let last: Promise<void> = Promise.resolve();

  async function readTo(below: number): Promise<void> {
    while (cursor < below) {
      const piece = await database.run(readEvents, {
        conversation: key,
        from: cursor,
        below,
        newestFirst: false,
        max: pieceEventsMax,
        bytesMax: pieceBytesMax,
      });
      const end = piece.at(-1);
      if (end === undefined) return;
      for (const { id, json } of piece) {
        // The run may have skipped some while they were read.
        if (id < cursor) continue;
        cursor = id + 1;
        const event = parse(json);
        if (event !== undefined) onEvent(event);
      }
    }
  }

  return {
    readNew: (nextEvent) => {
      const looked = last.then(() => readTo(nextEvent));
      // A failed read does not affect the next.
      last = looked.catch(() => {});
      return looked;
    },
    skipOwn: (first, count) => {
      if (first === cursor) cursor += count;
    },
    cursor: () => cursor,
  };
}
