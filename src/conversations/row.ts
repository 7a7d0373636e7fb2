// The row of a conversation: the only code that changes its status or appends to its log. Each transaction locks the row
// first, so that two that meet wait for each other, and keeps status, log, the user's changes and webhooks in step.
import { sql } from 'kysely';
import { one, prepared, type Queries, rows, type Steps } from '../db/transaction.ts';
import type { Change } from '../events/changes/schema.ts';
import { changeText } from '../events/changes/shape.ts';
import { recordChange } from '../events/changes/store.ts';
import { type EventText, insertEvents } from '../events/store.ts';
import { recordDeliveries } from '../webhooks/outboxStore.ts';
import type { Waiting } from '../webhooks/waiting.ts';
import type { ConversationName } from './id.ts';
import { isQuiet, marksOf } from './marks.ts';
import { reservation } from './reservation.ts';
import { agentStateOf, type ConversationStatus, mayFollow, reasonOf, type StopReason } from './states.ts';

/** The time of a change, as text for readers. */
export interface Moment {
  readonly at: string;
}

export interface LockedConversation {
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
  readonly pinned: number;
  readonly archived: number;
  readonly seen: number | null;
}

export const lockedColumns = [
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
  'pinned',
  'archived',
  'seen',
] as const;

/** The columns of a conversation without a run. */
export const noRun = {
  run_id: null,
  owner: null,
  lease_until: null,
  claimed_at: null,
  active_at: null,
  wanted: null,
};

/** The columns of a conversation whose run has ended, and which others may claim unless it is stopped. */
export const withoutRun = (q: Queries) => ({ ...noRun, ...reservation(q) });

/** Locks the row until the transaction ends. */
const lockRow = prepared((q: Queries, { userId, id }: ConversationName) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e.ref('next_event') }))
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning([...lockedColumns]),
);

const takeEventIds = prepared((q: Queries, { key, count }: { key: number; count: number }) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e('next_event', '+', count), updated_at: q.now }))
    .where('key', '=', key)
    .returning('next_event'),
);

/** A conversation that was read counts as read afterwards. */
const takeQuietEventIds = prepared((q: Queries, { key, count }: { key: number; count: number }) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({
      seen: sql<number>`case when seen >= next_event then next_event + ${count} else seen end`,
      next_event: e('next_event', '+', count),
      updated_at: q.now,
    }))
    .where('key', '=', key)
    .returning('next_event'),
);

export function* lockConversation(q: Queries, name: ConversationName): Steps<LockedConversation | undefined> {
  return (yield* one(lockRow(q, name))) as LockedConversation | undefined;
}

interface EventIds {
  readonly first: number;
  readonly count: number;
}

/** Adds events to the log. Returns their ids. */
function* insertIntoLog(
  q: Queries,
  locked: LockedConversation,
  events: readonly EventText[],
  isQuietLog: boolean,
): Steps<EventIds | undefined> {
  const count = events.length;
  if (count === 0) return undefined;
  const take = isQuietLog ? takeQuietEventIds : takeEventIds;
  const moved = yield* one(take(q, { key: locked.key, count }));
  if (moved === undefined) throw new Error('a conversation went away while it was locked');
  const first = moved.next_event - count;
  yield* insertEvents(q, locked.key, first, events);
  return { first, count };
}

interface AppendOptions {
  /** It waits for its user from now on. */
  readonly waiting?: (Pick<Waiting, 'waits_for' | 'at'> & { readonly eventId: number }) | undefined;
  /** The events leave nothing to read: a conversation that was read stays so. */
  readonly isQuietLog?: boolean;
}

/** Adds events to the log, and creates webhook deliveries. */
export function* appendEvents(
  q: Queries,
  locked: LockedConversation,
  events: readonly EventText[],
  { waiting, isQuietLog = false }: AppendOptions = {},
): Steps<void> {
  const added = yield* insertIntoLog(q, locked, events, isQuietLog);
  const { id: conversation_id, title } = locked;
  if (added !== undefined || waiting !== undefined)
    yield* recordDeliveries(q, {
      ...deliverySourceOf(locked),
      events: added,
      waiting: waiting && { conversation_id, title, ...waiting },
    });
}

interface StatusChange extends Moment {
  readonly to: ConversationStatus;
  readonly reason: StopReason | null;
  readonly events: readonly EventText[];
}

/** Changes the status, with everything that depends on it. */
export function* setStatus(
  q: Queries,
  locked: LockedConversation,
  { to, reason, events, at }: StatusChange,
): Steps<void> {
  if (!mayFollow(locked.status, to))
    throw new Error(`a conversation cannot go from ${locked.status} to ${to}`);
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
        ...(to === 'STARTING' ? reservation(q) : {}),
        claims: 0,
        // A run that is still alive must end, and releases the conversation then.
        wanted: to === 'STOPPED' && locked.run_id !== null ? 'stop' : sql.ref('wanted'),
      })
      .where('key', '=', locked.key),
  );
  const quiet = isQuiet(reason);
  const added = yield* insertIntoLog(q, locked, events, quiet);
  const status = changeOf(quiet ? locked : withEvents(locked, events), to, reason, at);
  yield* recordChange(q, locked.user_id, status);
  yield* recordDeliveries(q, { ...deliverySourceOf(locked), status, events: added });
}

export function changeOf(
  locked: LockedConversation,
  status: Change['status'],
  stop_reason: StopReason | null,
  at: string,
): string {
  const agent_state = agentStateOf({ ...locked, status });
  return changeText({
    conversation_id: locked.id,
    status,
    agent_state,
    title: locked.title,
    stop_reason,
    at,
    ...marksOf(locked),
  });
}

/** The conversation after these events were added. */
export function withEvents(locked: LockedConversation, events: readonly EventText[]): LockedConversation {
  return { ...locked, next_event: locked.next_event + events.length };
}

/** Records a change of the agent's state, or of marks. */
export function* recordAgentState(q: Queries, locked: LockedConversation, at: string): Steps<void> {
  yield* recordChange(q, locked.user_id, changeOf(locked, locked.status, reasonOf(locked), at));
}

export function deliverySourceOf(locked: LockedConversation) {
  return { userId: locked.user_id, conversationKey: locked.key, conversationId: locked.id };
}

/** Changes the title. */
export function* retitle(q: Queries, locked: LockedConversation, title: string, at: string): Steps<void> {
  if (title === locked.title) return;
  yield* rows(
    q.build.updateTable('conversations').set({ title, updated_at: q.now }).where('key', '=', locked.key),
  );
  yield* recordChange(q, locked.user_id, changeOf({ ...locked, title }, locked.status, reasonOf(locked), at));
}
