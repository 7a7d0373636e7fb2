// Completes the log when a run ends without finishing its turn, for example because its process died. This happens in
// the transaction that releases the conversation, so each interruption is recorded exactly once.
import { type Queries, rows, type Steps } from '../db/transaction.ts';
import { type DecodedEvent, decodeEvent } from '../events/decoded.ts';
import { eventText, interrupted, interruptedId } from '../events/shapes.ts';
import { type EventText, pieceOfLog } from '../events/store.ts';
import { type ToolAction, unfinishedObservation } from '../events/unfinished.ts';
import { appendEvents, type LockedConversation, lockedColumns } from './row.ts';

/** A turn has at most a few thousand events of limited size; older ones are not read. */
const piecesMax = 16;
const pieceEventsMax = 1_000;
const pieceBytesMax = 4_194_304;

export interface ReleasedConversation extends LockedConversation {
  readonly turn_from: number | null;
  readonly command_from: number | null;
}

export const releasedColumns = [...lockedColumns, 'turn_from', 'command_from'] as const;

interface Scan {
  /** Actions without an observation, oldest first. */
  readonly actions: readonly ToolAction[];
  /** The log already reports an interruption, and the agent has done nothing since. */
  readonly isReported: boolean;
}

/** Only events that match are parsed, because the others are irrelevant here and can be large. */
const relevant = /"tool_call_id":|"agent_state":"running"|"notice_id":/;

function isInterruption(event: DecodedEvent): boolean {
  return event.type === 'observation.notice' && event.extras.notice_id === interruptedId;
}

function isRunning(event: DecodedEvent): boolean {
  return event.type === 'observation.agent_state_changed' && event.extras.agent_state === 'running';
}

/** The first event that may have no result yet: of the open turn, or a command of the user. */
function openFrom({ turn_from: turn, command_from: command }: ReleasedConversation): number | null {
  return turn === null || command === null ? (turn ?? command) : Math.min(turn, command);
}

/** Reads the relevant events from there on, back to the last interruption. */
function* newestFirst(
  q: Queries,
  from: number,
  { key, next_event: end }: ReleasedConversation,
): Steps<DecodedEvent[]> {
  const found: DecodedEvent[] = [];
  let below = end;
  for (let pieces = 0; pieces < piecesMax && below > from; pieces++) {
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
      const event = decodeEvent(JSON.parse(json));
      found.push(event);
      if (isInterruption(event)) return found;
    }
  }
  return found;
}

function scan(events: readonly DecodedEvent[]): Scan {
  const ended = new Set<string>();
  const open = new Map<string, ToolAction>();
  for (const event of events) {
    if (!('tool_call_id' in event) || event.tool_call_id === undefined || event.replayed === true) continue;
    const { tool_call_id: call } = event;
    if ('observation' in event) ended.add(call);
    else if (event.type !== 'unknown' && !ended.has(call) && !open.has(call)) open.set(call, event);
  }
  const isTold = !events.some(isRunning) && events.some(isInterruption);
  return { actions: [...open.values()].reverse(), isReported: isTold };
}

/** Must be called in the transaction that releases the run. Returns whether it added events. */
export function* closeInterruptedTurn(
  q: Queries,
  released: ReleasedConversation,
  at: string,
): Steps<boolean> {
  const from = openFrom(released);
  if (from === null) return false;
  const { actions, isReported: isTold } = scan(yield* newestFirst(q, from, released));
  const told = released.turn_open === 1 && !isTold ? [interrupted] : [];
  const events: EventText[] = [...actions.map(unfinishedObservation), ...told].map((e) => eventText(e, at));
  yield* appendEvents(q, released, events);
  if (released.command_from !== null)
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ commands: 0, command_from: null })
        .where('key', '=', released.key),
    );
  return events.length > 0;
}
