// Translates the log of a V0 conversation. Events keep their fields and get ids without gaps, so `cause` changes with
// them. They carry `replayed`, because no agent of this server has produced them.
import { isFields } from '../../events/decoder/fields.ts';
import { eventText } from '../../events/shapes.ts';
import { mib } from '../../validation/schema.ts';
import type { FoundEvent, LostEvent } from './eventFiles.ts';
import { toTimestamp } from './times.ts';

const pieceEventsMax = 500;
/** An event may be longer. */
const pieceCharsMax = 4 * mib;

type Fields = Readonly<Record<string, unknown>>;

export interface LogOptions {
  readonly events: Iterable<FoundEvent | LostEvent>;
  /** For events before the first one that has a timestamp. */
  readonly startedAt: string;
  readonly onLost: (lost: LostEvent) => void;
}

/** What the log tells about its conversation, as far as it was read. */
export interface LogSummary {
  readonly events: number;
  readonly firstMessage: string;
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
  /** The newest `llm_metrics`. */
  readonly metrics: Fields;
}

export interface Log {
  readonly pieces: Iterable<readonly string[]>;
  summary(): LogSummary;
}

/** The index of the old id among the ids that were kept, which are ascending. */
function newId(kept: readonly number[], oldId: unknown): number | undefined {
  if (typeof oldId !== 'number') return undefined;
  let [low, high] = [0, kept.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((kept[middle] ?? 0) < oldId) low = middle + 1;
    else high = middle;
  }
  return kept[low] === oldId ? low : undefined;
}

/** V0 keeps it among the metadata of the call; here it joins an action with its observation. */
function toolCallId({ tool_call_id: own, tool_call_metadata: metadata }: Fields): string | undefined {
  if (typeof own === 'string') return own;
  const { tool_call_id: inner } = isFields(metadata) ? metadata : ({} as Fields);
  return typeof inner === 'string' ? inner : undefined;
}

function translate(event: Fields, kept: readonly number[], timestamp: string) {
  const { id: _, timestamp: __, cause, tool_call_id: ___, replayed: ____, ...rest } = event;
  const causeId = newId(kept, cause);
  const callId = toolCallId(event);
  return {
    timestamp,
    ...rest,
    ...(causeId === undefined ? {} : { cause: causeId }),
    ...(callId === undefined ? {} : { tool_call_id: callId }),
    replayed: true as const,
  };
}

function messageOf({ action, source, args }: Fields): string {
  const content = action === 'message' && source === 'user' && isFields(args) ? args['content'] : '';
  return typeof content === 'string' ? content : '';
}

/** The pieces can be read once. Events that cannot be imported are reported and left out. */
export function translateLog({ events, startedAt, onLost }: LogOptions): Log {
  const kept: number[] = [];
  let firstMessage = '';
  let firstAt: string | undefined;
  let lastAt: string | undefined;
  let metrics: Fields = {};

  function toText({ id, event }: FoundEvent, fields: Fields): string {
    const at = toTimestamp(fields['timestamp']);
    firstAt ??= at;
    lastAt = at ?? lastAt;
    if (firstMessage === '') firstMessage = messageOf(fields);
    if (isFields(fields['llm_metrics'])) metrics = fields['llm_metrics'];
    const text = eventText(translate(event as Fields, kept, lastAt ?? startedAt), startedAt);
    kept.push(id);
    return text;
  }

  function* read(): Generator<readonly string[], void> {
    let [piece, chars]: [string[], number] = [[], 0];
    for (const found of events) {
      if ('fault' in found) onLost(found);
      else if (!isFields(found.event)) onLost({ path: found.path, fault: 'is not an event' });
      else {
        const text = toText(found, found.event);
        if (piece.length > 0 && (piece.length === pieceEventsMax || chars + text.length > pieceCharsMax)) {
          yield piece;
          [piece, chars] = [[], 0];
        }
        piece.push(text);
        chars += text.length;
      }
    }
    if (piece.length > 0) yield piece;
  }

  return {
    pieces: read(),
    summary: () => ({ events: kept.length, firstMessage, firstAt, lastAt, metrics }),
  };
}
