// Random calls of the transactions that PostgreSQL runs in sets, on a few conversations, so that many of them meet.
import fc from 'fast-check';
import type { NewConversation } from '../../src/conversations/create/newConversation.ts';
import { createConversation } from '../../src/conversations/create/store.ts';
import { addMessageOnce, startConversation } from '../../src/conversations/lifecycle/store.ts';
import { recordRun, renewRun } from '../../src/conversations/run/store.ts';
import type { Database } from '../../src/db/transaction.ts';
import type { EventText } from '../../src/events/store.ts';
import { newConversation, someTime } from './conversations.ts';
import type { Twin } from './setTwins.ts';

const withMessages = ['waiting', 'running', 'stopped', 'ending'] as const;
/** The conversations that each user has at the start. The run of `ending` must end, that of `halted` has not ended yet. */
export const existing = [...withMessages, 'halted'] as const;
export const runId = 'run-1';
const ttlMs = 60_000;

const user = fc.constantFrom('plain', 'plain', 'plain', 'hooked');
const fingerprint = fc.constantFrom('f', 'g');
const keyHash = fc.constantFrom('key-1', 'key-2', 'expired');
/** How many events, and whether the last one answers the first. */
const shape = fc.record({ count: fc.integer({ min: 1, max: 3 }), answers: fc.boolean() });

type Given = 'userId' | 'id' | 'fingerprint' | 'events' | 'sealed' | 'patch' | 'idempotency' | 'waitingMax';
/** A value in every column, so that none is forgotten. */
const everyColumn: Omit<NewConversation, Given> = {
  title: 'a "title"',
  trigger: 'remote_api_key',
  repository: 'octo/repo',
  branch: 'main',
  gitProvider: 'github',
  agent: 'codex',
  llmModel: 'a/model',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  confirmationMode: 1,
  clientFolder: '/home/ada/code',
  request: '{"a":"b\\\\c"}',
  replayed: 0,
  said: 1,
  at: someTime,
};

const creation = fc.record({
  type: fc.constant('create' as const),
  user,
  // An idempotency key comes with an id of its own, as the service does it.
  name: fc.oneof(
    fc.record({ id: fc.constantFrom('new-1', 'new-2', 'waiting') }),
    fc.record({ keyHash: keyHash }),
  ),
  fingerprint,
  shape,
  sealed: fc.constantFrom(null, null, null, 'v1.active.x', 'v1.stale.x'),
  patch: fc.constantFrom(null, null, null, 'cGF0Y2g='),
  columns: fc.constantFrom({}, everyColumn),
});
const message = fc.record({
  type: fc.constant('message' as const),
  user,
  id: fc.constantFrom(...withMessages, 'missing'),
  keyHash: fc.option(keyHash, { freq: 1 }),
  fingerprint,
  shape,
});
const record = fc.record({
  type: fc.constant('record' as const),
  user,
  id: fc.constantFrom(...existing, 'running', 'running'),
  isOwner: fc.constantFrom(true, true, true, false),
  step: fc.integer({ min: 1, max: 6 }),
  heard: fc.constantFrom(null, null, null, 1),
  shape,
});
const renewal = fc.record({
  type: fc.constant('renew' as const),
  user,
  id: fc.constantFrom(...existing),
  isOwner: fc.boolean(),
});

export const setCall = fc.oneof(creation, message, record, renewal);
export type SetCall = (typeof setCall extends fc.Arbitrary<infer Call> ? Call : never) & {
  readonly n?: number;
};

/** The events of a call name it, so that the log shows in which order the calls came. */
function eventsOf({ count, answers }: { count: number; answers: boolean }, call: number): EventText[] {
  return Array.from({ length: count }, (_, i) => {
    const text = JSON.stringify({ call, i, text: `"'\\{},:\u{1F600}` });
    return answers && i > 0 ? { text, answers: 0 } : text;
  });
}

type Run = Database['run'];

/** Runs call `n` in the database of the twin. */
export function runCall(
  { userIds, keys, waitingMax }: Twin,
  run: Run,
  call: SetCall,
  n: number,
): Promise<unknown> {
  const userId = userIds[call.user];
  switch (call.type) {
    case 'create': {
      const { name, shape: events, fingerprint: of, sealed, patch, columns } = call;
      const isKeyed = 'keyHash' in name;
      return run(
        createConversation,
        newConversation(userId, isKeyed ? `keyed-${n}` : name.id, {
          ...{ fingerprint: of, sealed, patch, waitingMax, ...columns },
          events: eventsOf(events, n),
          idempotency: isKeyed ? { keyHash: name.keyHash, ttlMs } : null,
        }),
      );
    }
    case 'message': {
      const { id, keyHash: hash, fingerprint: of } = call;
      const input = { userId, id, message: eventsOf(call.shape, n), waking: [], waitingMax, at: someTime };
      if (hash === null) return run(startConversation, input);
      return run(addMessageOnce, { ...input, fingerprint: of, idempotency: { keyHash: hash, ttlMs } });
    }
    case 'record':
      return run(recordRun, {
        key: keys[call.user][call.id],
        runId: call.isOwner ? runId : 'another',
        step: call.step,
        events: eventsOf(call.shape, n),
        at: someTime,
        ...(call.heard === null ? {} : { progress: { heard: call.heard } }),
      });
    case 'renew':
      return run(renewRun, {
        key: keys[call.user][call.id],
        runId: call.isOwner ? runId : 'another',
        leaseMs: 1_000,
      });
  }
}
