// What was said before, for an agent that has lost its session: the newest of the log, as text.
import type { Database } from '../db/transaction.ts';
import { readEvents, type StoredEvent } from '../events/store.ts';

const eventsMax = 500;
const bytesMax = 1_048_576;
const charsMax = 40_000;

interface Said {
  readonly source?: string;
  readonly action?: string;
  readonly replayed?: boolean;
  readonly args?: { readonly content?: unknown };
}

const speakers: Readonly<Record<string, string>> = { user: 'User', agent: 'You' };

function lineOf({ id, json }: StoredEvent, heard: number): string | undefined {
  if (!json.includes('"action":"message"')) return undefined;
  const { source = '', action, replayed, args } = JSON.parse(json) as Said;
  // The agent gets it as a message, once.
  if (source === 'user' && id >= heard && replayed !== true) return undefined;
  const speaker = speakers[source];
  if (action !== 'message' || speaker === undefined || typeof args?.content !== 'string') return undefined;
  return `${speaker}: ${args.content}`;
}

interface HistoryOptions {
  readonly database: Database;
  readonly key: number;
  /** The first event that was not given to an agent yet: what the user said from there on is no history. */
  readonly heard: number;
  /** The first event that is not history, whoever it is of. */
  readonly below: number;
}

/** The messages before that event, oldest first, as many of the newest as fit. Empty where there are none. */
export async function readHistory({ database, key, heard, below }: HistoryOptions): Promise<string> {
  const newest = await database.run(readEvents, {
    conversation: key,
    from: 0,
    below,
    newestFirst: true,
    max: eventsMax,
    bytesMax,
  });
  const lines: string[] = [];
  let chars = 0;
  for (const event of newest) {
    const line = lineOf(event, heard);
    if (line === undefined) continue;
    chars += line.length;
    if (chars > charsMax && lines.length > 0) break;
    lines.unshift(line.slice(0, charsMax));
  }
  return lines.join('\n\n');
}
