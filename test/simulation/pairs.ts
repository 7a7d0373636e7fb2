// The pairs of hot transactions that are interleaved on PostgreSQL. Each pair begins in a known state, and may end only as
// it would if one transaction came after the other, or as it says itself.
import { cancelTurn } from '../../src/conversations/cancel/store.ts';
import { answerApprovalRequest } from '../../src/conversations/confirm/store.ts';
import { createConversation } from '../../src/conversations/create/store.ts';
import {
  addMessageOnce,
  deleteConversation,
  startConversation,
  stopConversation,
} from '../../src/conversations/lifecycle/store.ts';
import { claimConversation } from '../../src/conversations/run/claimStore.ts';
import { recordRun, releaseRun, renewRun } from '../../src/conversations/run/store.ts';
import { stopReason } from '../../src/conversations/states.ts';
import { endReservations } from '../../src/conversations/sweep/reservationStore.ts';
import { releaseExpired, stopOverdue } from '../../src/conversations/sweep/store.ts';
import { eventText, userMessage } from '../../src/events/shapes.ts';
import { claimDeliveries } from '../../src/webhooks/outboxStore.ts';
import { openSnapshot } from '../../src/workspaces/snapshots/store.ts';
import { someTime as at, newConversation } from '../support/conversations.ts';
import type { Call } from './interleave.ts';

/** The state that a pair begins in. Ids differ in each run, because sequences go on. */
export interface Setting {
  readonly userId: number;
  readonly webhookId: string;
  /** The key of the conversation `c`. */
  readonly key: number;
}

/**
 * `waiting`: one conversation waits for a worker. `reserved`: the same, for the machine `here`, for too long. `running`: the run `r` has it, with a lease that
 * is over.
 */
export type Beginning = 'nothing' | 'waiting' | 'reserved' | 'two waiting' | 'running' | 'asking' | 'stopped';

export interface Ending {
  readonly results: readonly [unknown, unknown];
  readonly conversations: readonly { readonly id: string; readonly run_id: string | null }[];
}

export interface Pair {
  readonly name: string;
  readonly beginning: Beginning;
  readonly calls: (setting: Setting) => readonly [Call, Call];
  /** Endings that no order of the two has, and that do no harm either. */
  readonly alsoAllowed?: (ending: Ending) => boolean;
}

const times = {
  startStalledMs: 0,
  startMs: 0,
  idleMs: 0,
  crowdedIdleMs: 0,
  crowdedWaitMs: 0,
  crowdedAskingMs: 0,
};
const id = 'c';
const events = (text: string) => [eventText(userMessage(text, []), at)];
const idempotency = { keyHash: 'k', ttlMs: 60_000 };

const claim = (runId: string, userRunsMax = 0, nodeId?: string): Call => ({
  transaction: claimConversation,
  input: { runId, owner: runId, nodeId, leaseMs: 60_000, userRunsMax },
});
const endReservation = ({ key }: Setting): Call => ({
  transaction: endReservations,
  input: { keys: [key], userRunsMax: 0 },
});
const create = (userId: number, more: object = {}): Call => ({
  transaction: createConversation,
  input: newConversation(userId, id, { events: events('first'), said: 1, ...more }),
});
const say = ({ userId }: Setting, text: string, waitingMax = 0): Call => ({
  transaction: startConversation,
  input: { userId, id, message: events(text), waking: events('waking'), waitingMax, at },
});
const sayOnce = ({ userId }: Setting, text: string, fingerprint = 'same'): Call => ({
  transaction: addMessageOnce,
  input: {
    userId,
    id,
    message: events(text),
    waking: events('waking'),
    waitingMax: 0,
    at,
    idempotency,
    fingerprint,
  },
});
const stop = ({ userId }: Setting): Call => ({
  transaction: stopConversation,
  input: { userId, id, reason: stopReason('user'), events: events('stopped'), at },
});
const remove = ({ userId }: Setting): Call => ({
  transaction: deleteConversation,
  input: { userId, id, at },
});
const record = ({ key }: Setting, more: object = {}): Call => ({
  transaction: recordRun,
  input: {
    key,
    runId: 'r',
    step: 3,
    events: events('step'),
    progress: { turn_open: 0 },
    waitsForAnswer: true,
    at,
    ...more,
  },
});
const renew = ({ key }: Setting): Call => ({
  transaction: renewRun,
  input: { key, runId: 'r', leaseMs: 60_000 },
});
const release = ({ key }: Setting): Call => ({ transaction: releaseRun, input: { key, runId: 'r', at } });
const takeOver = ({ key }: Setting): Call => ({ transaction: releaseExpired, input: { key, times, at } });
const answer = ({ userId }: Setting, text: string): Call => ({
  transaction: answerApprovalRequest,
  input: { userId, id, question: null, events: events(text), at },
});
const cancel = ({ userId }: Setting): Call => ({
  transaction: cancelTurn,
  input: { userId, id, event: events('cancel')[0], at },
});
const stopIdle = ({ key }: Setting): Call => ({
  transaction: stopOverdue,
  input: {
    key,
    kind: 'idle',
    times,
    reason: stopReason('idle'),
    events: events('idle'),
    expired: events('expired')[0],
    at,
  },
});
const send = ({ webhookId }: Setting): Call => ({
  transaction: claimDeliveries,
  input: { webhooks: [{ id: webhookId, max: 2 }], leaseMs: 60_000 },
});

const openBlobs = ({ key }: Setting): Call => ({
  transaction: openSnapshot,
  input: { key, runId: 'r', id: 'f', sealed: 'v1.k.x' },
});

const ownersOf = ({ conversations }: Ending) => conversations.flatMap(({ run_id }) => run_id ?? []);
/** One worker finds nothing because the other was faster; it looks again a moment later. */
const oneOwner = (ending: Ending) => ownersOf(ending).length === 1;

export const pairs: readonly Pair[] = [
  { name: 'claim and claim', beginning: 'waiting', calls: () => [claim('a'), claim('b')] },
  {
    name: 'claim and claim, with two that wait',
    beginning: 'two waiting',
    calls: () => [claim('a'), claim('b')],
    alsoAllowed: oneOwner,
  },
  {
    name: 'claim and claim of a user who may have one run',
    beginning: 'two waiting',
    calls: () => [claim('a', 1), claim('b', 1)],
    alsoAllowed: oneOwner,
  },
  {
    name: 'claim and end of a reservation',
    beginning: 'reserved',
    calls: (s) => [claim('a', 0, 'here'), endReservation(s)],
    // The worker looks again when it is told of the end.
    alsoAllowed: ({ results: [claimed, ended] }) => claimed === undefined && ended === 1,
  },
  {
    name: 'claim of another machine and end of a reservation',
    beginning: 'reserved',
    calls: (s) => [claim('a', 0, 'there'), endReservation(s)],
  },
  {
    name: 'end and end of a reservation',
    beginning: 'reserved',
    calls: (s) => [endReservation(s), endReservation(s)],
  },
  {
    name: 'stop and end of a reservation',
    beginning: 'reserved',
    calls: (s) => [stop(s), endReservation(s)],
  },
  {
    name: 'create and create',
    beginning: 'nothing',
    calls: ({ userId }) => [create(userId), create(userId)],
  },
  {
    name: 'create and create of another request with the same id',
    beginning: 'nothing',
    calls: ({ userId }) => [create(userId), create(userId, { fingerprint: 'other' })],
  },
  {
    name: 'create and create with the same key',
    beginning: 'nothing',
    calls: ({ userId }) => [create(userId, { idempotency }), create(userId, { id: 'd', idempotency })],
  },
  {
    name: 'create and create of a user who may have one more that waits',
    beginning: 'waiting',
    calls: ({ userId }) => [
      create(userId, { id: 'd', waitingMax: 2 }),
      create(userId, { id: 'e', waitingMax: 2 }),
    ],
  },
  {
    name: 'create and start of a user who may have one that waits',
    beginning: 'stopped',
    calls: (s) => [create(s.userId, { id: 'd', waitingMax: 1 }), say(s, 'one', 1)],
  },
  { name: 'message and message', beginning: 'running', calls: (s) => [say(s, 'one'), say(s, 'two')] },
  {
    name: 'message and message to a stopped one',
    beginning: 'stopped',
    calls: (s) => [say(s, 'one'), say(s, 'two')],
  },
  {
    name: 'message and message with one key',
    beginning: 'running',
    calls: (s) => [sayOnce(s, 'one'), sayOnce(s, 'one')],
  },
  { name: 'message and step', beginning: 'running', calls: (s) => [say(s, 'one'), record(s)] },
  { name: 'step and step', beginning: 'running', calls: (s) => [record(s), record(s)] },
  { name: 'stop and claim', beginning: 'waiting', calls: (s) => [stop(s), claim('a')] },
  { name: 'stop and step', beginning: 'running', calls: (s) => [stop(s), record(s)] },
  { name: 'stop and message', beginning: 'running', calls: (s) => [stop(s), say(s, 'one')] },
  { name: 'stop and stop', beginning: 'running', calls: (s) => [stop(s), stop(s)] },
  { name: 'confirm and confirm', beginning: 'asking', calls: (s) => [answer(s, 'yes'), answer(s, 'no')] },
  { name: 'confirm and cancel', beginning: 'asking', calls: (s) => [answer(s, 'yes'), cancel(s)] },
  { name: 'confirm and stop', beginning: 'asking', calls: (s) => [answer(s, 'yes'), stop(s)] },
  { name: 'renewal and takeover', beginning: 'running', calls: (s) => [renew(s), takeOver(s)] },
  { name: 'step and takeover', beginning: 'running', calls: (s) => [record(s), takeOver(s)] },
  { name: 'release and takeover', beginning: 'running', calls: (s) => [release(s), takeOver(s)] },
  { name: 'takeover and takeover', beginning: 'running', calls: (s) => [takeOver(s), takeOver(s)] },
  { name: 'message and idle stop', beginning: 'running', calls: (s) => [say(s, 'one'), stopIdle(s)] },
  { name: 'delete and message', beginning: 'running', calls: (s) => [remove(s), say(s, 'one')] },
  {
    name: 'delete and new snapshot',
    beginning: 'running',
    calls: (s) => [remove(s), openBlobs(s)],
  },
  {
    name: 'new snapshot and takeover',
    beginning: 'running',
    calls: (s) => [openBlobs(s), takeOver(s)],
  },
  { name: 'delete and step', beginning: 'running', calls: (s) => [remove(s), record(s)] },
  { name: 'delete and claim', beginning: 'waiting', calls: (s) => [remove(s), claim('a')] },
  { name: 'delete and create', beginning: 'waiting', calls: (s) => [remove(s), create(s.userId)] },
  {
    name: 'delivery and delivery',
    beginning: 'waiting',
    calls: (s) => [send(s), send(s)],
    // Deliveries that the other claims are left out, not waited for.
    alsoAllowed: ({ results }) => {
      const ids = (results as readonly { readonly id: string }[][]).flatMap((claimed) =>
        claimed.map((one) => one.id),
      );
      return new Set(ids).size === ids.length;
    },
  },
];
