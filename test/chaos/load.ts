// What clients do while faults happen: each loop is one client of one user.
import { setTimeout as wait } from 'node:timers/promises';
import { canaryOf } from './history.ts';
import type { Operations, User } from './operations.ts';
import type { Random } from './random.ts';

export interface LoadOptions {
  readonly users: readonly User[];
  readonly operations: Operations;
  readonly random: Random;
  readonly isOver: () => boolean;
  /** Told of each conversation that was acknowledged. */
  readonly onConversation: (user: User, id: string) => void;
}

export const fields = ['git_user_name', 'git_user_email', 'email'] as const;
const secretNames = ['ALPHA', 'BETA', 'GAMMA'] as const;
/** Sent this often before a client gives up on an answer. */
const repeatsMax = 6;
const breathMs = { min: 30, max: 250 };

/** Names that no other operation uses. */
function createNames(user: User): (kind: string) => string {
  let count = 0;
  return (kind) => `${kind}-${user.name}-${count++}`;
}

interface Client {
  readonly user: User;
  readonly random: Random;
  readonly operations: Operations;
  readonly isOver: () => boolean;
  readonly nextName: (kind: string) => string;
  readonly onConversation: LoadOptions['onConversation'];
  readonly pause: (min?: number, max?: number) => Promise<void>;
}

/** A new value carries its owner, so that it is noticed anywhere else. */
function marked({ user, nextName }: Client, kind: string): string {
  return `${nextName(kind)} ${canaryOf(user.name)}`;
}

/** Creates one, repeating the request where it may be repeated, until it is answered. Returns its id. */
async function create(client: Client, message: string): Promise<string | undefined> {
  const { user, random, operations, nextName, pause } = client;
  const token = nextName('token');
  const way = random.pick(['id', 'key', 'plain'] as const);
  // The same id for every user: each has a conversation of its own under it.
  const id = way === 'id' ? `shared-${token.replace(`-${user.name}`, '')}` : null;
  const idempotencyKey = way === 'key' ? `key-${token}` : null;
  const json = {
    initial_user_msg: `${message}\n${token} ${canaryOf(user.name)}`,
    ...(id === null ? {} : { conversation_id: id }),
  };
  const attempt = () =>
    operations.perform(
      user,
      { kind: 'create', token, id, idempotencyKey, answered: null as string | null },
      {
        method: 'POST',
        path: '/api/conversations',
        json,
        ...(idempotencyKey === null ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
      },
      (detail, { body }) => {
        detail.answered = String(body.conversation_id);
      },
    );
  // Impatient clients send the same request twice at once.
  const first =
    way !== 'plain' && random.chance(0.3) ? await Promise.all([attempt(), attempt()]) : [await attempt()];
  let answered = first.find(({ outcome }) => outcome === 'ok')?.answered ?? null;
  for (let time = 0; way !== 'plain' && answered === null && time < repeatsMax; time++) {
    await pause();
    answered = (await attempt()).answered;
  }
  if (way !== 'plain' && answered !== null && random.chance(0.2)) await attempt();
  if (answered === null) return undefined;
  client.onConversation(user, answered);
  return answered;
}

/** Sends a message. One with a key is repeated until it is answered, and sometimes after that. */
async function say(client: Client, conversation: string, message: string): Promise<void> {
  const { user, random, operations, nextName, pause } = client;
  const token = nextName('token');
  const hasKey = random.chance(0.5);
  const attempt = () =>
    operations.perform(
      user,
      { kind: 'message', conversation, token, answered: null as number | null },
      {
        method: 'POST',
        path: `/api/conversations/${conversation}/message`,
        json: { message: `${message}\n${token} ${canaryOf(user.name)}` },
        ...(hasKey ? { headers: { 'idempotency-key': `key-${token}` } } : {}),
      },
      (detail, { body }) => {
        detail.answered = Number(body.event_id);
      },
    );
  let { answered } = await attempt();
  for (let time = 0; hasKey && answered === null && time < repeatsMax; time++) {
    await pause();
    ({ answered } = await attempt());
  }
  if (hasKey && random.chance(0.2)) await attempt();
}

function stop({ user, operations }: Client, conversation: string) {
  return operations.perform(
    user,
    { kind: 'stop', conversation },
    { method: 'POST', path: `/api/conversations/${conversation}/stop` },
  );
}

function cancel({ user, operations }: Client, conversation: string) {
  return operations.perform(
    user,
    { kind: 'cancel', conversation },
    { method: 'POST', path: `/api/conversations/${conversation}/cancel` },
  );
}

/** Creates conversations, writes to them, cancels some turns, and stops most of them. */
async function converse(client: Client): Promise<void> {
  const { random, isOver, pause } = client;
  // Messages that wait are given together: only the first turn may last longer than a lease.
  const short = () => `work ${random.between(1, 15)} ${random.between(10, 60)}`;
  const first = () => (random.chance(0.5) ? `work ${random.between(30, 110)} 100` : short());
  while (!isOver()) {
    await pause();
    const id = await create(client, first());
    if (id === undefined) continue;
    for (let count = random.between(0, 4); count > 0 && !isOver(); count--) {
      await pause(50, 2_500);
      await say(client, id, short());
      if (random.chance(0.2)) await cancel(client, id);
    }
    await pause(500, 3_000);
    if (random.chance(0.8)) await stop(client, id);
  }
}

/** Creates many, for which no agent is started, and deletes some. */
async function createMany(client: Client): Promise<void> {
  const { user, random, operations, isOver, pause } = client;
  while (!isOver()) {
    const id = await create(client, 'hello');
    await pause(50, 400);
    if (id !== undefined && random.chance(0.1))
      await operations.perform(
        user,
        { kind: 'delete', conversation: id },
        { method: 'DELETE', path: `/api/conversations/${id}` },
      );
  }
}

const versionOf = (etag: string | null) => Number(/^"(\d+)-/.exec(etag ?? '')?.[1] ?? -1);

async function readSettings({ user, operations }: Client): Promise<string | null> {
  let found: string | null = null;
  await operations.perform(
    user,
    { kind: 'read-settings', version: 0, values: {} as Record<string, string | null> },
    { method: 'GET', path: '/api/settings' },
    (detail, { body, etag }) => {
      detail.version = versionOf(etag);
      detail.values = Object.fromEntries(fields.map((field) => [field, body[field] as string | null]));
      found = etag;
    },
  );
  return found;
}

async function changeSettings(client: Client): Promise<void> {
  const { user, random, operations, isOver, pause } = client;
  while (!isOver()) {
    await pause();
    const etag = random.chance(0.5) ? await readSettings(client) : null;
    const field = random.pick(fields);
    const value = marked(client, 'value');
    const base = etag === null ? null : versionOf(etag);
    await operations.perform(
      user,
      {
        kind: 'write-setting',
        field: field as string,
        value,
        base,
        version: null as number | null,
        seen: null as string | null,
      },
      {
        method: 'PATCH',
        path: '/api/settings',
        json: { [field]: value },
        ...(etag === null ? {} : { headers: { 'if-match': etag } }),
      },
      (detail, reply) => {
        detail.version = versionOf(reply.etag);
        detail.seen = reply.body[field] as string | null;
      },
    );
  }
}

async function changeSecrets(client: Client): Promise<void> {
  const { user, random, operations, isOver, pause } = client;
  const path = '/api/secrets';
  while (!isOver()) {
    await pause();
    const name = random.pick(secretNames);
    const description = marked(client, 'note');
    const value = { value: `value of ${description}`, description };
    const choice = random.pick(['create', 'update', 'delete', 'read'] as const);
    if (choice === 'read')
      await operations.perform(
        user,
        { kind: 'read-secrets', secrets: {} as Record<string, string> },
        { method: 'GET', path },
        (detail, { body }) => {
          const list = body.custom_secrets as { name: string; description: string }[];
          detail.secrets = Object.fromEntries(list.map((one) => [one.name, one.description]));
        },
      );
    else if (choice === 'delete')
      await operations.perform(
        user,
        { kind: 'delete-secret', name },
        { method: 'DELETE', path: `${path}/${name}` },
      );
    else
      await operations.perform(
        user,
        { kind: 'write-secret', name, description, how: choice },
        choice === 'create'
          ? { method: 'POST', path, json: { name, ...value } }
          : { method: 'PUT', path: `${path}/${name}`, json: value },
      );
  }
}

/** Asks for conversations of others. */
async function peek(client: Client, others: () => string | undefined): Promise<void> {
  const { user, operations, isOver, pause } = client;
  while (!isOver()) {
    await pause(300, 1_000);
    const conversation = others();
    if (conversation === undefined) continue;
    await operations.perform(
      user,
      { kind: 'peek', conversation, found: false as boolean },
      { method: 'GET', path: `/api/conversations/${conversation}` },
      (detail, { text }) => {
        detail.found = text !== 'null';
      },
    );
  }
}

/** Returns when all clients have ended, which they do soon after the load is over. */
export async function runLoad(options: LoadOptions): Promise<void> {
  const { users, operations, isOver } = options;
  /** Ids that the service chose, which are nobody else's. */
  const known = new Map<string, string[]>(users.map(({ name }) => [name, []]));
  const clients = users.flatMap((user) => {
    const nextName = createNames(user);
    const open = (name: string): Client => {
      const random = options.random.fork(`${user.name} ${name}`);
      return {
        user,
        random,
        operations,
        isOver,
        nextName,
        onConversation: (owner, id) => {
          if (!id.startsWith('shared-')) known.get(owner.name)?.push(id);
          options.onConversation(owner, id);
        },
        pause: (min = breathMs.min, max = breathMs.max) => wait(random.between(min, max)),
      };
    };
    const peeker = open('peeker');
    const others = () => {
      const ids = users.filter(({ name }) => name !== user.name).flatMap(({ name }) => known.get(name) ?? []);
      return ids.length === 0 ? undefined : peeker.random.pick(ids);
    };
    const creating = user.hasAgent ? converse : createMany;
    return [
      creating(open('first creator')),
      creating(open('second creator')),
      changeSettings(open('first writer')),
      changeSettings(open('second writer')),
      changeSecrets(open('keeper of secrets')),
      peek(peeker, others),
    ];
  });
  await Promise.all(clients);
}
