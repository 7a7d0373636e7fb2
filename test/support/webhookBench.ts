// A database, a user, webhooks and loops that send, without the rest of the service: times are milliseconds.
import type { TestContext } from 'node:test';
import { createChoices } from '../../src/conversations/choice/service.ts';
import { createConversations } from '../../src/conversations/create/service.ts';
import { openConfiguredDatabase } from '../../src/database.ts';
import type { Database, DatabaseKind } from '../../src/db/transaction.ts';
import { openVault } from '../../src/encryption/vault.ts';
import type { Principal } from '../../src/keys/principal.ts';
import { createOutgoingFetch } from '../../src/outgoing/fetch.ts';
import { createIds } from '../../src/process/ids.ts';
import { createProviderKeys } from '../../src/providerKeys/service.ts';
import { createSettings } from '../../src/settings/service.ts';
import { ensureUser } from '../../src/users/store.ts';
import { createDeliveries, type DeliveryTimes } from '../../src/webhooks/delivery.ts';
import type { WebhookEvent } from '../../src/webhooks/schema.ts';
import { createWebhooks } from '../../src/webhooks/service.ts';
import { createStorage } from './databases.ts';
import { inspect } from './inspect.ts';
import type { Receiver } from './receiver.ts';
import { until } from './until.ts';

export function fail(error: Error): void {
  throw error;
}

const quick: Partial<DeliveryTimes> = { pollMs: 10, gatherMs: 1, firstRetryMs: 10, closeGraceMs: 50 };

export async function createWebhookBench(kind: DatabaseKind, t: TestContext) {
  const storage = await createStorage(kind);
  const database = await openConfiguredDatabase(storage, fail);
  // In this order, while hooks of a test run in the order of their registration.
  const closers: (() => unknown)[] = [() => storage.remove(), () => database.close()];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const vault = await openVault({ database, dataDir: storage.dataDir, secretKeys: [] });
  const user = await database.run(ensureUser, 'owner');
  const principal: Principal = {
    userId: user.id,
    userName: user.name,
    keyName: 'test',
    keyId: 'test',
    via: 'session',
    scopes: new Set(),
    expiresAt: Number.POSITIVE_INFINITY,
    acceptsBearer: false,
  };
  const settings = createSettings({ database, vault, agentNames: () => [] });
  const conversations = createConversations({
    database,
    vault,
    limits: { take: () => undefined, giveBack: () => {} },
    waitingMax: 0,
    choices: createChoices({
      agents: { names: [], find: () => undefined },
      settings,
      providerKeys: createProviderKeys({ settings, modelHosts: {} }),
    }),
    findFolderFault: async () => undefined,
    findRepositoryFault: async () => undefined,
    nextId: createIds(),
    onBackgroundError: fail,
  });
  closers.push(conversations.close);
  const webhooks = createWebhooks({
    database,
    vault,
    allowPrivate: async () => true,
    nextId: createIds(),
    wake: () => {},
  });

  interface LoopOptions {
    readonly times?: Partial<DeliveryTimes>;
    readonly timeoutMs?: number;
    readonly allowPrivate?: boolean;
    readonly on?: Database;
  }
  function startLoop({ times, timeoutMs = 60_000, allowPrivate = true, on = database }: LoopOptions = {}) {
    const deliveries = createDeliveries({
      database: on,
      vault,
      fetch: createOutgoingFetch({ allowPrivate: () => allowPrivate, timeoutMs, responseBytesMax: 1_024 }),
      onBackgroundError: fail,
      times: { ...quick, ...times },
    });
    closers.push(deliveries.close);
    return deliveries;
  }

  return {
    storage,
    database,
    closers,
    principal,
    webhooks,
    startLoop,
    watch: (url: string, events: WebhookEvent[]) => webhooks.create(principal, { url, events }),
    say: (message: string, replay?: string) =>
      conversations.create(principal, {
        initial_user_msg: message,
        ...(replay === undefined ? {} : { replay_json: replay }),
      }),
    rows: () => inspect(storage, 'select * from deliveries order by id'),
    list: async (id: string) => (await webhooks.deliveries(principal, id, {})).deliveries,
  };
}

export type WebhookBench = Awaited<ReturnType<typeof createWebhookBench>>;

export function untilEmpty(bench: WebhookBench): Promise<true> {
  return until('everything is delivered', async () => (await bench.rows()).length === 0);
}

export function untilReceived({ received }: Receiver, count: number): Promise<true> {
  return until(`${count} messages arrive`, () => received.length >= count);
}

export async function untilFailed(bench: WebhookBench, id: string) {
  return until('a message is given up', async () =>
    (await bench.list(id)).find(({ state }) => state === 'failed'),
  );
}
