// One round: processes are started, clients and faults work against each other, then everything must come to rest.
// What happened is returned as a history; whether it was right is for the checker to say.
import { setTimeout as wait } from 'node:timers/promises';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import type { PostgresServer } from '../support/postgresServer.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { ask } from '../support/service.ts';
import { type Cluster, ownerKey, startCluster } from './cluster.ts';
import { injectFaults, pastLeaseMs } from './faults.ts';
import { readConversations, readFinalState } from './finalState.ts';
import { canaryOf, type History } from './history.ts';
import { findLeftBehind } from './leftBehind.ts';
import { runLoad } from './load.ts';
import { createOperations, type Operations, type User } from './operations.ts';
import type { Random } from './random.ts';
import { catchUp, settle, wakeSome } from './settle.ts';
import { type Subscriber, subscribe } from './subscribers.ts';

export interface RoundOptions {
  readonly kind: DatabaseKind;
  readonly seconds: number;
  readonly random: Random;
  readonly main: string;
  readonly sandbox: 'bubblewrap' | 'process';
  readonly postgres: PostgresServer | undefined;
  /** No conversation has to wait for a slot, and none is stopped to make room. */
  readonly roomy?: boolean;
  /** Only these faults, where they are given. */
  readonly onlyFaults?: readonly string[];
  /** For how long processes are paused, and the time between faults, where that is not left to the faults. */
  readonly pauseMs?: { readonly min: number; readonly max: number };
  readonly gapMs?: { readonly min: number; readonly max: number };
  readonly say: (line: string) => void;
}

const streamsFollowedMax = 60;

type After = { after(fn: () => Promise<void>): void };

async function createUsers(cluster: Cluster, several: boolean): Promise<User[]> {
  const [url = ''] = cluster.members
    .filter((member) => member.answersRequests)
    .map((member) => member.url() ?? '');
  if (!several) return [{ name: 'owner', key: ownerKey, hasAgent: true }];
  return Promise.all(
    ['anna', 'bert', 'cora'].map(async (name) => {
      const { body, text } = await ask(url, '/api/keys', {
        key: ownerKey,
        json: { name: 'chaos', user: name },
      });
      if (typeof body?.key !== 'string') throw new Error(`no key for ${name}: ${text}`);
      // An agent that is not installed: conversations end at once, and many can be created.
      return { name, key: body.key, hasAgent: name !== 'cora' };
    }),
  );
}

/** Everybody has a webhook and an agent before the first fault. */
async function prepareUser(
  cluster: Cluster,
  operations: Operations,
  user: User,
  t: After,
): Promise<Receiver> {
  const receiver = await startReceiver(t);
  const url = cluster.members.find((member) => member.answersRequests)?.url() ?? '';
  const agent = user.hasAgent ? 'fake' : 'absent';
  const { outcome } = await operations.perform(
    user,
    { kind: 'write-setting', field: 'agent', value: agent, base: null, version: null, seen: null },
    { method: 'PATCH', path: '/api/settings', json: { agent } },
  );
  const { status, text } = await ask(url, '/api/webhooks', {
    key: user.key,
    json: {
      url: receiver.url,
      events: ['conversation.status', 'conversation.event'],
      description: canaryOf(user.name),
    },
  });
  if (outcome !== 'ok' || status !== 201) throw new Error(`${user.name} could not be set up: ${text}`);
  return receiver;
}

/** A receiver that refuses some messages, and takes its time. */
function beUnreliable(receiver: Receiver, random: Random, isRough: () => boolean): void {
  receiver.answer(async () => {
    if (!isRough()) return 204;
    if (random.chance(0.05)) await wait(random.between(10, 2_000));
    return random.chance(0.03) ? 500 : 204;
  });
}

/** Plays one round and takes down all of it. Throws where it cannot even begin. */
export async function playRound(options: RoundOptions): Promise<History> {
  const cleanups: (() => Promise<void>)[] = [];
  const t: After = { after: (fn) => void cleanups.unshift(fn) };
  try {
    return await play(options, t);
  } finally {
    for (const cleanUp of cleanups) await cleanUp();
  }
}

async function play(options: RoundOptions, t: After): Promise<History> {
  const { kind, seconds, random, say } = options;
  const beganMs = performance.now();
  const now = () => Math.round(performance.now() - beganMs);
  const cluster = await startCluster(kind, { ...options, now }, t);
  await cluster.allUp();
  const { storage } = cluster.site;
  const operations = createOperations(cluster, random.fork('processes of requests'), now);
  const users = await createUsers(cluster, options.sandbox === 'bubblewrap');
  const receivers = new Map<string, Receiver>();
  for (const user of users) receivers.set(user.name, await prepareUser(cluster, operations, user, t));
  let rough = true;
  const isRough = () => rough;
  for (const [name, receiver] of receivers) beUnreliable(receiver, random.fork(`receiver ${name}`), isRough);
  const follow = (user: User, conversation: string | undefined) =>
    subscribe({ cluster, user, conversation, random: random.fork(`${user.name} ${conversation}`), isRough });
  const subscribers: Subscriber[] = users.map((user) => follow(user, undefined));

  const load = runLoad({
    users,
    operations,
    random: random.fork('load'),
    isOver: () => !rough,
    onConversation: (user, id) => {
      if (user.hasAgent && subscribers.length < streamsFollowedMax) subscribers.push(follow(user, id));
    },
  });
  const faults = await injectFaults({
    cluster,
    postgres: kind === 'postgres' ? options.postgres : undefined,
    random: random.fork('faults'),
    seconds,
    now,
    only: options.onlyFaults,
    pauseMs: options.pauseMs ?? pastLeaseMs,
    gapMs: options.gapMs,
  });
  rough = false;
  say(
    `  faults are over after ${Math.round(now() / 1_000)} s: ${faults.length} faults, ${operations.all.length} operations`,
  );
  await load;
  await cluster.allUp();
  await wakeSome(operations, storage, users);
  const overdueDeliveries = await settle(storage, say);
  say(`  at rest after ${Math.round(now() / 1_000)} s`);
  await catchUp(subscribers, await readConversations(storage));
  const state = await readFinalState(storage, users);
  await Promise.all(subscribers.map((subscriber) => subscriber.stop()));
  await cluster.stop();
  return {
    database: kind,
    operations: operations.all,
    faults,
    exits: cluster.exits,
    streams: subscribers.map((subscriber) => subscriber.view()),
    arrivals: [...receivers].flatMap(([user, { received }]) =>
      received.map(({ id, text }) => ({ user, id, text })),
    ),
    ...state,
    overdueDeliveries,
    leftBehind: await findLeftBehind(storage.dataDir),
  };
}
