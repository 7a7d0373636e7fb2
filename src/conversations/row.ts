// The row of a conversation: the only code that changes its status or appends to its log. Each transaction locks the row
// first, so that two that meet wait for each other, and keeps status, log, the user's changes and webhooks in step.
import { sql } from 'kysely';
import { one, prepared, type Queries, rows, type Steps } from '../db/transaction.ts';
import type { Change } from '../events/changes/schema.ts';
import { changeText } from '../events/changes/shape.ts';
import { recordChange } from '../events/changes/store.ts';
import { type EventText, insertEvents } from '../events/store.ts';
import { recordDeliveries } from '../webhooks/outboxStore.ts';
import type { ConversationName } from './id.ts';
import { agentStateOf, type ConversationStatus, mayFollow, reasonOf, type StopReason } from './states.ts';

/** When it happens, as text for those who read it. */
export interface Moment {
  readonly at: string;
}

export interface Held {
  readonly key: number;
  readonly user_id: number;
  readonly id: string;
  readonly status: ConversationStatus;
  readonly title: string;
  readonly run_id: string | null;
  readonly next_event: number;
  readonly turn_open: number;
  readonly question: number | null;
  readonly said: number;
  readonly heard: number;
  readonly stop_code: string | null;
  readonly stop_sentence: string | null;
}

export const heldColumns = [
  'key',
  'user_id',
  'id',
  'status',
  'title',
  'run_id',
  'next_event',
  'turn_open',
  'question',
  'said',
  'heard',
  'stop_code',
  'stop_sentence',
] as const;

/** What a conversation has of a run while it has none: another may take it. */
export const noRun = {
  run_id: null,
  owner: null,
  lease_until: null,
  claimed_at: null,
  active_at: null,
  wanted: null,
};

/** Takes the row until the transaction ends. */
const takeRow = prepared((q: Queries, { userId, id }: ConversationName) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e.ref('next_event') }))
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning([...heldColumns]),
);

const takeIds = prepared((q: Queries, { key, count }: { key: number; count: number }) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e('next_event', '+', count), updated_at: q.now }))
    .where('key', '=', key)
    .returning('next_event'),
);

export function* hold(q: Queries, name: ConversationName): Steps<Held | undefined> {
  return (yield* one(takeRow(q, name))) as Held | undefined;
}

interface EventIds {
  readonly first: number;
  readonly count: number;
}

/** Adds to the log of a held conversation. Returns the ids that the events got. */
function* append(q: Queries, held: Held, events: readonly EventText[]): Steps<EventIds | undefined> {
  const count = events.length;
  if (count === 0) return undefined;
  const moved = yield* one(takeIds(q, { key: held.key, count }));
  if (moved === undefined) throw new Error('a conversation went away while it was held');
  const first = moved.next_event - count;
  yield* insertEvents(q, held.key, first, events);
  return { first, count };
}

/** Adds to the log of a held conversation, and tells the webhooks. */
export function* tellEvents(q: Queries, held: Held, events: readonly EventText[]): Steps<void> {
  const added = yield* append(q, held, events);
  if (added !== undefined) yield* recordDeliveries(q, { ...happeningTo(held), events: added });
}

interface Move extends Moment {
  readonly to: ConversationStatus;
  readonly reason: StopReason | null;
  readonly events: readonly EventText[];
}

/** Moves a held conversation to another state. */
export function* moveTo(q: Queries, held: Held, { to, reason, events, at }: Move): Steps<void> {
  if (!mayFollow(held.status, to)) throw new Error(`a conversation cannot go from ${held.status} to ${to}`);
  yield* rows(
    q.build
      .updateTable('conversations')
      .set({
        status: to,
        stop_code: reason?.code ?? null,
        stop_sentence: reason?.message ?? null,
        runtime_status: null,
        updated_at: q.now,
        ...(to === 'STOPPED' ? { turn_open: 0, question: null, crashes: 0 } : {}),
        claims: 0,
        // A run that still lives is told to end; it gives the conversation free when it has.
        wanted: to === 'STOPPED' && held.run_id !== null ? 'stop' : sql.ref('wanted'),
      })
      .where('key', '=', held.key),
  );
  const added = yield* append(q, held, events);
  const status = changeOf(held, to, reason, at);
  yield* recordChange(q, held.user_id, status);
  yield* recordDeliveries(q, { ...happeningTo(held), status, events: added });
}

export function changeOf(
  held: Held,
  status: Change['status'],
  stop_reason: StopReason | null,
  at: string,
): string {
  const agent_state = agentStateOf({ ...held, status });
  return changeText({ conversation_id: held.id, status, agent_state, title: held.title, stop_reason, at });
}

/** Tells that the agent of a held conversation does something else than before. */
export function* tellAgentState(q: Queries, held: Held, at: string): Steps<void> {
  yield* recordChange(q, held.user_id, changeOf(held, held.status, reasonOf(held), at));
}

export function happeningTo(held: Held) {
  return { userId: held.user_id, conversationKey: held.key, conversationId: held.id };
}

/** Gives a held conversation another title. */
export function* retitle(q: Queries, held: Held, title: string, at: string): Steps<void> {
  if (title === held.title) return;
  yield* rows(
    q.build.updateTable('conversations').set({ title, updated_at: q.now }).where('key', '=', held.key),
  );
  yield* recordChange(q, held.user_id, changeOf({ ...held, title }, held.status, reasonOf(held), at));
}
