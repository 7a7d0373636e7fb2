// Webhooks for the commands: over HTTP if the user named a service, otherwise in the local database.
import { type Parley, ParleyError } from '../../client/parley.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/transaction.ts';
import { openVault } from '../../encryption/vault.ts';
import { RefusalError } from '../../errors.ts';
import { createIds } from '../../process/ids.ts';
import { commandName } from '../../process/program.ts';
import { ownerName } from '../../users/owner.ts';
import { findUser } from '../../users/store.ts';
import { findDeliveryWebhook, listDeliveries } from '../../webhooks/deliveryStore.ts';
import type { CreatedWebhook, DeliveryRecord, NewWebhook, WebhookRecord } from '../../webhooks/schema.ts';
import { createWebhooks, redeliverAll, toDelivery, toRecord } from '../../webhooks/service.ts';
import { listWebhooks, type WebhookRow } from '../../webhooks/store.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import { commandLine, withDatabase } from './database.ts';

const failedShownMax = 1_000;

/** A service returns only webhooks of the user of the API key, so that their user needs no column. */
interface WithUser {
  readonly user?: string;
}

interface WebhookBackend {
  create(webhook: NewWebhook, userName: string | undefined): Promise<CreatedWebhook>;
  /** Returns false if there is no such webhook. */
  delete(id: string): Promise<boolean>;
  list(userName: string | undefined): Promise<readonly (WebhookRecord & WithUser)[]>;
  failed(
    userName: string | undefined,
  ): Promise<readonly (DeliveryRecord & WithUser & { webhook_id: string })[]>;
  /** Returns how many deliveries are redelivered, or undefined if there is no such webhook or delivery. */
  redeliver(id: string): Promise<number | undefined>;
}

function refuseUser(userName: string | undefined): void {
  if (userName !== undefined)
    throw new RefusalError(
      'A service shows only the webhooks of your own user: omit --user, or run this command without PARLEY_URL and in the context "local".',
    );
}

async function failedOf({ webhooks }: Parley, webhookId: string): Promise<DeliveryRecord[]> {
  const found: DeliveryRecord[] = [];
  let page: { page_id?: string } = {};
  while (found.length < failedShownMax) {
    const { deliveries, next_page_id: next } = await webhooks.deliveries(webhookId, {
      state: 'failed',
      ...page,
    });
    found.push(...deliveries);
    if (next === null) break;
    page = { page_id: next };
  }
  return found.slice(0, failedShownMax);
}

/** Undefined if the service has no such webhook or delivery. */
async function orMissing<Out>(answer: Promise<Out>): Promise<Out | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function atService(): WebhookBackend {
  const parley = connect();
  const all = async () => (await parley.webhooks.list()).webhooks;
  return {
    create: (webhook, userName) => {
      refuseUser(userName);
      return parley.webhooks.create(webhook);
    },
    delete: async (id) => (await orMissing(parley.webhooks.delete(id).then(() => true))) ?? false,
    list: (userName) => {
      refuseUser(userName);
      return all();
    },
    failed: async (userName) => {
      refuseUser(userName);
      const found = [];
      for (const { id } of await all())
        for (const delivery of await failedOf(parley, id)) found.push({ webhook_id: id, ...delivery });
      return found;
    },
    redeliver: async (id) => {
      if (!id.startsWith('msg_')) return orMissing(parley.webhooks.redeliver(id));
      for (const { id: webhookId } of await all()) {
        const count = await orMissing(parley.webhooks.redeliver(webhookId, id));
        if (count !== undefined) return count;
      }
      return undefined;
    },
  };
}

/** The rules of webhooks, for the local database. */
async function openWebhooks(database: Database, config: Config) {
  const { dataDir, secretKeys } = config;
  return createWebhooks({
    database,
    vault: await openVault({ database, dataDir, secretKeys }),
    // The environment of the service decides, and this command may have another one. The service checks each delivery.
    allowPrivate: async () => true,
    nextId: createIds(),
    // A service that runs looks for deliveries by itself.
    wake: () => {},
  });
}

function noSuchUser(): RefusalError {
  return new RefusalError(`There is no such user; "${commandName} users list" shows them.`);
}

async function webhooksOf(database: Database, userName: string | undefined): Promise<WebhookRow[]> {
  if (userName === undefined) return database.run(listWebhooks, {});
  const user = await database.run(findUser, userName);
  if (user === undefined) throw noSuchUser();
  return database.run(listWebhooks, { userId: user.id });
}

const inDatabase: WebhookBackend = {
  create: (webhook, userName = ownerName) =>
    withDatabase(async (database, config) => {
      const user = await database.run(findUser, userName);
      if (user === undefined) throw noSuchUser();
      const webhooks = await openWebhooks(database, config);
      return webhooks.create({ userId: user.id, keyId: commandLine }, webhook);
    }),
  delete: (id) =>
    withDatabase(async (database, config) => {
      const found = (await database.run(listWebhooks, {})).find((webhook) => webhook.id === id);
      if (found === undefined) return false;
      const webhooks = await openWebhooks(database, config);
      await webhooks.remove({ userId: found.user_id, keyId: commandLine }, id);
      return true;
    }),
  list: (userName) =>
    withDatabase(async (database) =>
      (await webhooksOf(database, userName)).map((row) => ({ user: row.user, ...toRecord(row) })),
    ),
  failed: (userName) =>
    withDatabase(async (database) => {
      const found = [];
      for (const { id: webhookId, user } of await webhooksOf(database, userName)) {
        const filter = { webhookId, states: ['failed'] as const, max: failedShownMax };
        for (const row of (await database.run(listDeliveries, filter)) ?? [])
          found.push({ webhook_id: webhookId, user, ...toDelivery(row) });
      }
      return found;
    }),
  redeliver: (id) =>
    withDatabase(async (database) => {
      const webhookId = await database.run(findDeliveryWebhook, id);
      return redeliverAll(
        database,
        webhookId === undefined ? { webhookId: id } : { webhookId, deliveryId: id },
      );
    }),
};

export function webhookBackend(): WebhookBackend {
  return isServiceNamed() ? atService() : inDatabase;
}
