// What was said before, for an agent that has lost its session: the newest of the log, as text.
import type { Database } from '../db/transaction.ts';
import { readEvents } from '../events/store.ts';

const eventsMax = 500;
const bytesMax = 1_048_576;
const charsMax = 40_000;

interface Said {
  readonly source?: string;
  readonly replayed?: boolean;
  readonly action?: string;
  readonly args?: { readonly content?: unknown };
}

const speakers: Readonly<Record<string, string>> = { user: 'User', agent: 'You' };

function lineOf(json: string, isHeard: boolean): string | undefined {
  if (!json.includes('"action":"message"')) return undefined;
  const { source = '', action, args, replayed } = JSON.parse(json) as Said;
  if (source === 'user' && !isHeard && replayed !== true) return undefined;
  const speaker = speakers[source];
  if (action !== 'message' || speaker === undefined || typeof args?.content !== 'string') return undefined;
  return `${speaker}: ${args.content}`;
}

interface HistoryOptions {
  readonly database: Database;
  readonly key: number;
  /** The first event that is not history. */
  readonly below: number;
  /** Messages of the user from this one on are still to be given. */
  readonly heard: number;
}

/** The messages before that event, oldest first, as many of the newest as fit. Empty where there are none. */
export async function readHistory({ database, key, below, heard }: HistoryOptions): Promise<string> {
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
  for (const { id, json } of newest) {
    const line = lineOf(json, id < heard);
    if (line === undefined) continue;
    chars += line.length;
    if (chars > charsMax && lines.length > 0) break;
    lines.unshift(line.slice(0, charsMax));
  }
  return lines.join('\n\n');
}
