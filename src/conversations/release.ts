// Completes the log when a run ends without finishing its turn, for example because its process died. This happens in
// the transaction that releases the conversation, so each interruption is recorded exactly once.
import type { Queries, Steps } from '../db/transaction.ts';
import { agentStateName, eventText, interrupted, isInterrupted } from '../events/shapes.ts';
import { type EventText, pieceOfLog } from '../events/store.ts';
import { unfinishedObservation } from '../events/unfinished.ts';
import { type Held, heldColumns, tellEvents } from './row.ts';

/** A turn has at most a few thousand events of limited size; older ones are not read. */
const piecesMax = 16;
const pieceEventsMax = 1_000;
const pieceBytesMax = 4_194_304;

export interface Released extends Held {
  readonly turn_from: number | null;
}

export const releasedColumns = [...heldColumns, 'turn_from'] as const;

type Parsed = Readonly<Record<string, unknown>>;

interface Scan {
  /** Actions without an observation, oldest first. */
  readonly actions: readonly Parsed[];
  /** The log already reports an interruption, and the agent has done nothing since. */
  readonly isTold: boolean;
}

/** Only events that match are parsed, because the others are irrelevant here and can be large. */
const relevant = /"tool_call_id":|"agent_state":"running"|"notice_id":/;

/** Reads the relevant events of the open turn, back to the last interruption. */
function* newestFirst(q: Queries, { key, turn_from: from, next_event: end }: Released): Steps<Parsed[]> {
  const found: Parsed[] = [];
  let below = end;
  for (let pieces = 0; pieces < piecesMax && from !== null && below > from; pieces++) {
    const piece = yield* pieceOfLog(q, {
      conversation: key,
      from,
      below,
      newestFirst: true,
      max: pieceEventsMax,
      bytesMax: pieceBytesMax,
    });
    const oldest = piece.at(-1);
    if (oldest === undefined) break;
    below = oldest.id;
    for (const { json } of piece) {
      if (!relevant.test(json)) continue;
      const event = JSON.parse(json) as Parsed;
      found.push(event);
      if (isInterrupted(event)) return found;
    }
  }
  return found;
}

function scan(events: readonly Parsed[]): Scan {
  const ended = new Set<unknown>();
  const open = new Map<unknown, Parsed>();
  let hasRun = false;
  for (const event of events) {
    hasRun ||= agentStateName(event) === 'running';
    const { tool_call_id: call, action, observation, replayed } = event;
    if (typeof call !== 'string' || replayed === true) continue;
    if (observation !== undefined) ended.add(call);
    else if (action !== undefined && !ended.has(call) && !open.has(call)) open.set(call, event);
  }
  const isTold = !hasRun && events.some(isInterrupted);
  return { actions: [...open.values()].reverse(), isTold };
}

/** Must be called in the transaction that releases the run. Returns whether it added events. */
export function* settleLog(q: Queries, released: Released, at: string): Steps<boolean> {
  if (released.turn_from === null) return false;
  const { actions, isTold } = scan(yield* newestFirst(q, released));
  const told = released.turn_open === 1 && !isTold ? [interrupted] : [];
  const events: EventText[] = [...actions.map(unfinishedObservation), ...told].map((e) => eventText(e, at));
  yield* tellEvents(q, released, events);
  return events.length > 0;
}
