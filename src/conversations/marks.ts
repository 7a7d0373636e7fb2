// What a user marks in the list of conversations: pinned, archived, and what was read.
import { type Queries, rows, type Steps } from '../db/transaction.ts';
import type { StopCode } from './states.ts';

interface StoredMarks {
  readonly pinned: number;
  readonly archived: number;
  /** The event id after the last one that the user has seen; null for all, in a conversation of an older version. */
  readonly seen: number | null;
  readonly next_event: number;
}

/** As readers get them. */
export function marksOf({ pinned, archived, seen, next_event }: StoredMarks) {
  return { pinned: pinned === 1, archived: archived === 1, unread: seen !== null && seen < next_event };
}

/** The last event and the last one that was seen; null if there is none. */
export function positionsOf({ seen, next_event }: StoredMarks) {
  const before = (id: number) => (id === 0 ? null : id - 1);
  return { last_event_id: before(next_event), seen_event_id: before(seen ?? next_event) };
}

/** Stops that leave nothing to read. */
const quietStops: ReadonlySet<StopCode> = new Set<StopCode>([
  'user',
  'finished',
  'idle',
  'shutdown',
  'user_inactive',
  'imported',
]);

/** Whether a conversation that was read stays so after this change of its status. */
export function isQuiet(reason: { readonly code: StopCode } | null): boolean {
  return reason === null || quietStops.has(reason.code);
}

export interface NewMarks {
  readonly pinned?: boolean;
  readonly archived?: boolean;
  /** The last event that the user has seen; null marks the conversation as unread. */
  readonly seenEventId?: number | null;
}

/** Reading goes forward, because a slow tab may report late. */
function nextSeen({ seen, next_event }: StoredMarks, eventId: number | null | undefined): number | null {
  if (eventId === undefined) return seen;
  if (eventId === null) return 0;
  return Math.max(seen ?? next_event, Math.min(eventId + 1, next_event));
}

/** Stores marks of a locked conversation. Returns it with its new marks. */
export function* storeMarks<Locked extends StoredMarks & { readonly key: number }>(
  q: Queries,
  locked: Locked,
  { pinned, archived, seenEventId }: NewMarks,
): Steps<Locked> {
  const after = {
    pinned: Number(pinned ?? locked.pinned === 1),
    archived: Number(archived ?? locked.archived === 1),
    seen: nextSeen(locked, seenEventId),
  };
  const isSame =
    after.pinned === locked.pinned && after.archived === locked.archived && after.seen === locked.seen;
  if (!isSame) yield* rows(q.build.updateTable('conversations').set(after).where('key', '=', locked.key));
  return { ...locked, ...after };
}

/** Whether readers see a difference. */
export function haveSameMarks(one: StoredMarks, other: StoredMarks): boolean {
  return JSON.stringify(marksOf(one)) === JSON.stringify(marksOf(other));
}
