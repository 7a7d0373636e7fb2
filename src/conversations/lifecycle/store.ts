// What users do to existing conversations: stop, start, change, delete.
import { sql } from 'kysely';
import {
  one,
  prepared,
  type Queries,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../../db/transaction.ts';
import { recordChange } from '../../events/changes/store.ts';
import { deleteEvents, type EventText, insertEvents } from '../../events/store.ts';
import { forgetEventDeliveries, recordDeliveries } from '../../webhooks/outboxStore.ts';
import { choiceOf } from '../choice/store.ts';
import { areTooManyWaiting } from '../create/waiting.ts';
import type { ConversationName } from '../id.ts';
import { claimKey, releaseKey } from '../idempotency/store.ts';
import { haveSameMarks, type NewMarks, storeMarks } from '../marks.ts';
import {
  appendEvents,
  changeOf,
  deliverySourceOf,
  type LockedConversation,
  lockConversation,
  lockedColumns,
  type Moment,
  recordAgentState,
  retitle,
  setStatus,
} from '../row.ts';
import { deleteFromIndex } from '../search/indexStore.ts';
import { reasonOf, type StopReason } from '../states.ts';
import { lockUsers } from '../userLock.ts';
import { keyedMessageSet, messageSet } from './messageSet.ts';
import type { KeyedMessage, KeyedWakeOutcome, Outcome, Start, WakeOutcome } from './wake.ts';

/** Locks the row and reserves event ids if the conversation is not stopped. */
const lockRowAndTakeIds = prepared(
  (q: Queries, { userId, id, count }: ConversationName & { count: number }) => {
    const lives = sql<boolean>`status <> 'STOPPED'`;
    return q.build
      .updateTable('conversations')
      .set({
        next_event: sql<number>`case when ${lives} then next_event + ${count} else next_event end`,
        // A stopped conversation may have to refuse the message.
        said: sql<number>`case when ${lives} then next_event + 1 else said end`,
        updated_at: sql<number>`case when ${lives} then ${q.now} else updated_at end`,
        // The run has work now, so it must not be stopped as idle.
        active_at: sql<number>`case when run_id is null then active_at else ${q.now} end`,
      })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .returning([...lockedColumns]);
  },
);

const setSaid = prepared((q: Queries, { key, said }: { key: number; said: number }) =>
  q.build.updateTable('conversations').set({ said }).where('key', '=', key),
);

interface Stop extends ConversationName, Moment {
  readonly reason: StopReason;
  readonly events: readonly EventText[];
}

/** Returns undefined if there is no such conversation. Does nothing if it was stopped already. */
export const stopConversation = write('lifecycle.stop', function* (q, input: Stop): Steps<
  Outcome | undefined
> {
  const locked = yield* lockConversation(q, input);
  if (locked === undefined) return undefined;
  if (locked.status === 'STOPPED') return { key: locked.key, status: 'STOPPED', changed: false };
  yield* setStatus(q, locked, { ...input, to: 'STOPPED' });
  return { key: locked.key, status: 'STOPPED', changed: true };
});

/** Locks the user before the conversation, if the user's limit will matter. */
function* lockUserOfStopped(q: Queries, { userId, id, waitingMax }: Start): Steps<void> {
  if (waitingMax === 0 || q.kind === 'sqlite') return;
  const found = yield* one(
    q.build.selectFrom('conversations').select('status').where('user_id', '=', userId).where('id', '=', id),
  );
  if (found?.status === 'STOPPED') yield* lockUsers(q, [userId]);
}

function* wake(q: Queries, input: Start): Steps<WakeOutcome> {
  const { userId, id, message, waking, at } = input;
  const count = message.length;
  const locked = (
    count === 0 ? yield* lockConversation(q, input) : yield* one(lockRowAndTakeIds(q, { userId, id, count }))
  ) as LockedConversation | undefined;
  if (locked === undefined) return undefined;
  if (locked.status !== 'STOPPED') {
    const events = { first: locked.next_event - count, count };
    yield* insertEvents(q, locked.key, events.first, message);
    if (count > 0) yield* recordDeliveries(q, { ...deliverySourceOf(locked), events });
    return { key: locked.key, status: locked.status, changed: count > 0, eventId: events.first };
  }
  if (yield* areTooManyWaiting(q, input)) return 'too_many';
  // The message comes first in the log.
  if (count > 0) yield* rows(setSaid(q, { key: locked.key, said: locked.next_event + 1 }));
  yield* setStatus(q, locked, { to: 'STARTING', reason: null, events: [...message, ...waking], at });
  return { key: locked.key, status: 'STARTING', changed: true, eventId: locked.next_event };
}

/** Starts a stopped conversation, and adds the message if there is one. */
export const startConversation = write(
  'lifecycle.start',
  function* (q, input: Start): Steps<WakeOutcome> {
    yield* lockUserOfStopped(q, input);
    return yield* wake(q, input);
  },
  messageSet,
);

/** Adds a message once, however often it is sent with the same idempotency key. */
export const addMessageOnce = repeatableWrite(
  'lifecycle.addMessageOnce',
  function* (q, input: KeyedMessage): Steps<KeyedWakeOutcome> {
    const { userId, id, idempotency, fingerprint } = input;
    yield* lockUserOfStopped(q, input);
    const locked = yield* lockConversation(q, input);
    if (locked === undefined) return undefined;
    const claimed = yield* claimKey(
      q,
      { userId, fingerprint, conversationId: id, eventId: locked.next_event },
      idempotency,
    );
    if (claimed === undefined) {
      const woken = yield* wake(q, input);
      if (woken === 'too_many') yield* releaseKey(q, userId, idempotency.keyHash);
      return woken;
    }
    if (claimed.fingerprint !== fingerprint || claimed.event_id === null) return 'key_reused';
    // The first attempt may have been lost before it notified anybody.
    return { key: locked.key, status: locked.status, changed: true, eventId: claimed.event_id };
  },
  keyedMessageSet,
);

/** A new value, and the event that is recorded if it differs from the stored one. */
interface NewChoice<Value> {
  readonly value: Value;
  readonly event: EventText;
}

interface Change extends ConversationName, Moment {
  readonly marks?: NewMarks;
  readonly title?: string;
  readonly agent?: NewChoice<string>;
  readonly llmModel?: NewChoice<string | null>;
  readonly confirmationMode?: NewChoice<boolean | null>;
}

const storedMode = (mode: boolean | null) => (mode === null ? null : Number(mode));

function* choose(q: Queries, locked: LockedConversation, change: Change): Steps<void> {
  const { agent, llmModel, confirmationMode, at } = change;
  const stored = yield* choiceOf(q, locked.key);
  const newAgent = agent?.value === stored?.agent ? undefined : agent;
  const newModel = llmModel?.value === stored?.llm_model ? undefined : llmModel;
  const isSameMode =
    confirmationMode === undefined || storedMode(confirmationMode.value) === stored?.confirmation_mode;
  const newMode = isSameMode ? undefined : confirmationMode;
  const events = [newAgent, newModel, newMode].flatMap((choice) => choice?.event ?? []);
  if (events.length === 0) return;
  yield* rows(
    q.build
      .updateTable('conversations')
      .set({
        ...(newAgent === undefined ? {} : { agent: newAgent.value }),
        ...(newModel === undefined ? {} : { llm_model: newModel.value }),
        ...(newMode === undefined ? {} : { confirmation_mode: storedMode(newMode.value) }),
      })
      .where('key', '=', locked.key),
  );
  yield* appendEvents(q, locked, events);
  yield* recordChange(q, locked.user_id, changeOf(locked, locked.status, reasonOf(locked), at));
}

/** Returns the key, or undefined if there is no such conversation. */
export const changeConversation = write('lifecycle.change', function* (q, input: Change): Steps<
  number | undefined
> {
  const locked = yield* lockConversation(q, input);
  if (locked === undefined) return undefined;
  const { title = locked.title, agent, llmModel, confirmationMode } = input;
  const marked = input.marks === undefined ? locked : yield* storeMarks(q, locked, input.marks);
  if (title !== locked.title) yield* retitle(q, marked, title, input.at);
  else if (!haveSameMarks(marked, locked)) yield* recordAgentState(q, marked, input.at);
  if (agent !== undefined || llmModel !== undefined || confirmationMode !== undefined)
    yield* choose(q, { ...marked, title }, input);
  return locked.key;
});

/** Deletes the rows of a locked conversation. It records no change and no delivery. */
export function* deleteRows(q: Queries, locked: LockedConversation): Steps<void> {
  yield* rows(q.build.deleteFrom('conversations').where('key', '=', locked.key));
  yield* deleteEvents(q, locked.key, locked.next_event);
  yield* deleteFromIndex(q, locked.key);
  yield* rows(
    q.build
      .deleteFrom('idempotency')
      .where('user_id', '=', locked.user_id)
      .where('conversation_id', '=', locked.id),
  );
  for (const table of ['uploads', 'feedback', 'workspace_patches'] as const)
    yield* rows(q.build.deleteFrom(table).where('conversation_key', '=', locked.key));
  // Its blobs are removed later, also if this process ends now.
  yield* rows(
    q.build
      .updateTable('snapshots')
      .set({ removed_at: q.now })
      .where('conversation_key', '=', locked.key)
      .where('removed_at', 'is', null),
  );
  yield* forgetEventDeliveries(q, locked.key);
}

/** Deletes it with its log and its idempotency keys, so that the id can be used again. Returns the key. */
export const deleteConversation = write(
  'lifecycle.delete',
  function* (q, input: ConversationName & Moment): Steps<number | undefined> {
    const locked = yield* lockConversation(q, input);
    if (locked === undefined) return undefined;
    yield* deleteRows(q, locked);
    const gone = changeOf(locked, null, null, input.at);
    yield* recordChange(q, locked.user_id, gone);
    yield* recordDeliveries(q, { ...deliverySourceOf(locked), status: gone });
    return locked.key;
  },
);

export const lifecycleTransactions = [
  stopConversation,
  startConversation,
  addMessageOnce,
  changeConversation,
  deleteConversation,
];
