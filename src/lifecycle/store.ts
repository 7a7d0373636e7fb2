// What happens to a conversation after its creation. Each transaction takes the row first, so that two that meet
// wait for each other, and leaves the status, the log, the user's changes and the webhooks in step.
import { sql } from 'kysely';
import type { Change } from '../changes/schema.ts';
import { changeText } from '../changes/shape.ts';
import { recordChange } from '../changes/store.ts';
import type { ConversationName } from '../conversations/name.ts';
import { countWaitingSteps } from '../conversations/waitingStore.ts';
import { one, prepared, type Queries, rows, type Steps, write } from '../db/transaction.ts';
import { deleteEvents, type EventText, insertEvents } from '../events/store.ts';
import { forgetEventDeliveries, recordDeliveries } from '../webhooks/outboxStore.ts';
import { agentStateOf, type ConversationStatus, mayFollow, reasonOf, type StopReason } from './states.ts';

/** When it happens, as text for those who read it. */
interface Moment {
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

/** The same, with ids for events where it lives. */
const takeRowAndIds = prepared((q: Queries, { userId, id, count }: ConversationName & { count: number }) => {
  const lives = sql<boolean>`status <> 'STOPPED'`;
  return q.build
    .updateTable('conversations')
    .set({
      next_event: sql<number>`case when ${lives} then next_event + ${count} else next_event end`,
      // The message comes first in the log, whether the conversation runs or is resumed.
      said: sql<number>`next_event + 1`,
      updated_at: sql<number>`case when ${lives} then ${q.now} else updated_at end`,
      // It has something to do: whoever looks for idle ones must not take it for one.
      active_at: sql<number>`case when run_id is null then active_at else ${q.now} end`,
    })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning([...heldColumns]);
});

const takeIds = prepared((q: Queries, { key, count }: { key: number; count: number }) =>
  q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e('next_event', '+', count), updated_at: q.now }))
    .where('key', '=', key)
    .returning('next_event'),
);

function* hold(q: Queries, name: ConversationName): Steps<Held | undefined> {
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

function changeOf(held: Held, status: Change['status'], stop_reason: StopReason | null, at: string): string {
  const agent_state = agentStateOf({ ...held, status });
  return changeText({ conversation_id: held.id, status, agent_state, title: held.title, stop_reason, at });
}

/** Tells that the agent of a held conversation does something else than before. */
export function* tellAgentState(q: Queries, held: Held, at: string): Steps<void> {
  yield* recordChange(q, held.user_id, changeOf(held, held.status, reasonOf(held), at));
}

function happeningTo(held: Held) {
  return { userId: held.user_id, conversationKey: held.key, conversationId: held.id };
}

/** What a transaction found, and the log whose readers must hear of it where it changed something. */
export interface Outcome {
  readonly key: number;
  readonly status: ConversationStatus;
  readonly changed: boolean;
}

interface Stop extends ConversationName, Moment {
  readonly reason: StopReason;
  readonly events: readonly EventText[];
}

/** Undefined where there is no such conversation; nothing is changed where it has stopped already. */
export const stopConversation = write('lifecycle.stop', function* (q, input: Stop): Steps<
  Outcome | undefined
> {
  const held = yield* hold(q, input);
  if (held === undefined) return undefined;
  if (held.status === 'STOPPED') return { key: held.key, status: 'STOPPED', changed: false };
  yield* moveTo(q, held, { ...input, to: 'STOPPED' });
  return { key: held.key, status: 'STOPPED', changed: true };
});

interface Start extends ConversationName, Moment {
  /** What the log says when it starts again. */
  readonly waking: readonly EventText[];
  /** What it gets first, whether it starts or runs. */
  readonly message: readonly EventText[];
  /** Of its user's conversations that may wait for a worker; 0: any number. */
  readonly waitingMax: number;
}

/** Starts one that has stopped, and adds a message to it where there is one. */
export const startConversation = write('lifecycle.start', function* (q, input: Start): Steps<
  Outcome | 'too_many' | undefined
> {
  const { userId, id, message, waking, waitingMax, at } = input;
  const count = message.length;
  const held = (count === 0 ? yield* hold(q, input) : yield* one(takeRowAndIds(q, { userId, id, count }))) as
    | Held
    | undefined;
  if (held === undefined) return undefined;
  if (held.status !== 'STOPPED') {
    const events = { first: held.next_event - count, count };
    yield* insertEvents(q, held.key, events.first, message);
    if (count > 0) yield* recordDeliveries(q, { ...happeningTo(held), events });
    return { key: held.key, status: held.status, changed: count > 0 };
  }
  if (waitingMax > 0 && (yield* countWaitingSteps(q, { userId, max: waitingMax })) >= waitingMax)
    return 'too_many';
  yield* moveTo(q, held, { to: 'STARTING', reason: null, events: [...message, ...waking], at });
  return { key: held.key, status: 'STARTING', changed: true };
});

/** Gives a held conversation another title. */
export function* retitle(q: Queries, held: Held, title: string, at: string): Steps<void> {
  if (title === held.title) return;
  yield* rows(
    q.build.updateTable('conversations').set({ title, updated_at: q.now }).where('key', '=', held.key),
  );
  yield* recordChange(q, held.user_id, changeOf({ ...held, title }, held.status, reasonOf(held), at));
}

interface Rename extends ConversationName, Moment {
  readonly title: string;
}

export const renameConversation = write('lifecycle.rename', function* (q, input: Rename): Steps<boolean> {
  const held = yield* hold(q, input);
  if (held === undefined) return false;
  yield* retitle(q, held, input.title, input.at);
  return true;
});

/** Removes it with its log and its idempotency keys: the id is free again. Returns the number of the log. */
export const deleteConversation = write(
  'lifecycle.delete',
  function* (q, input: ConversationName & Moment): Steps<number | undefined> {
    const held = yield* hold(q, input);
    if (held === undefined) return undefined;
    yield* rows(q.build.deleteFrom('conversations').where('key', '=', held.key));
    yield* deleteEvents(q, held.key, held.next_event);
    yield* rows(
      q.build
        .deleteFrom('idempotency')
        .where('user_id', '=', held.user_id)
        .where('conversation_id', '=', held.id),
    );
    yield* forgetEventDeliveries(q, held.key);
    const gone = changeOf(held, null, null, input.at);
    yield* recordChange(q, held.user_id, gone);
    yield* recordDeliveries(q, { ...happeningTo(held), status: gone });
    return held.key;
  },
);

export const lifecycleTransactions = [
  stopConversation,
  startConversation,
  renameConversation,
  deleteConversation,
];
