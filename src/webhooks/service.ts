// The rules of webhooks: who owns them, how many, which addresses are allowed, and redelivery.
import { isIP } from 'node:net';
import { isLoopbackName } from '../config.ts';
import type { Database } from '../db/transaction.ts';
import { ownerOf } from '../encryption/store.ts';
import { storeEncrypted } from '../encryption/storeEncrypted.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError, invalid } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import { classifyAddress } from '../outgoing/addresses.ts';
import { type AllowPrivate, allowsPrivate } from '../outgoing/privateHosts.ts';
import { bareHost, portOf } from '../outgoing/resolve.ts';
import { maskedUrl, packCredentials } from './chat/hiddenUrl.ts';
import { type DeliveryRow, dropDeliveries, listDeliveries, redeliver } from './deliveryStore.ts';
import {
  type CreatedWebhook,
  type DeliveryList,
  type DeliveryPage,
  type DeliveryRecord,
  type DeliveryState,
  deliveryStates,
  type NewWebhook,
  pageSize,
  type WebhookEvent,
  type WebhookFormat,
  type WebhookRecord,
} from './schema.ts';
import { createWebhookSecret } from './signing.ts';
import { createWebhook, deleteWebhook, listWebhooks, type WebhookRow, webhooksMax } from './store.ts';

const batchMax = 1_000;

interface WebhooksOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly allowPrivate: AllowPrivate;
  readonly nextId: () => string;
  /** Called when there is something to send. */
  readonly wake: () => void;
}

/** Who changes webhooks. */
type Writer = Pick<Principal, 'userId' | 'keyId'>;

export type Webhooks = ReturnType<typeof createWebhooks>;

function iso(at: number): string {
  return new Date(at).toISOString();
}

export function toRecord(row: WebhookRow): WebhookRecord {
  return {
    id: row.id,
    url: row.url,
    events: JSON.parse(row.events) as WebhookEvent[],
    description: row.description,
    format: row.format as WebhookFormat,
    created_at: iso(row.created_at),
    waiting: Number(row.waiting),
    failed: Number(row.failed),
  };
}

export function toDelivery(row: DeliveryRow): DeliveryRecord {
  return {
    id: row.id,
    type: row.type as WebhookEvent,
    conversation_id: row.conversation_id,
    state: row.state as DeliveryState,
    created_at: iso(row.created_at),
    attempts: row.attempts,
    next_attempt_at: row.state === 'waiting' ? iso(row.next_at) : null,
    last_status: row.last_status,
    last_error: row.last_error,
  };
}

/** A chat room is for people, and one turn has hundreds of events. */
function refuseEvents({ events, format = 'parley' }: NewWebhook): void {
  if (format === 'parley' || !events.includes('conversation.event')) return;
  const message = `must not contain conversation.event if the format is ${format}`;
  throw invalid([{ path: 'events', message }]);
}

/** What names such as localhost stand for. */
const loopback = '127.0.0.1';

function notFound(what = 'webhook'): AppError {
  return new AppError('not_found', `This ${what} does not exist.`);
}

/**
 * Redelivers all failed deliveries of a webhook, or one. Returns how many; undefined if there is no such webhook or
 * delivery.
 */
export async function redeliverAll(
  database: Database,
  which: { webhookId: string; userId?: number; deliveryId?: string | undefined },
): Promise<number | undefined> {
  for (let total = 0; ; ) {
    const count = await database.run(redeliver, { ...which, max: batchMax });
    if (count === undefined) return undefined;
    total += count;
    if (count < batchMax) return total;
  }
}

export function createWebhooks({ database, vault, allowPrivate, nextId, wake }: WebhooksOptions) {
  /** Host names are checked at each connection; an address in the URL, or localhost, can be refused at once. */
  async function refuseAddress(url: string): Promise<void> {
    const target = new URL(url);
    const host = bareHost(target.hostname);
    const literal = isLoopbackName(host) ? loopback : host;
    if (isIP(literal) === 0) return;
    const found = classifyAddress(literal);
    const fault = (message: string) => invalid([{ path: 'url', message }]);
    if (found === 'never') throw fault('must not be a link-local or reserved address');
    const at = { host, port: portOf(target) };
    if (found === 'private' && !allowsPrivate(await allowPrivate(), at, literal))
      throw fault(
        'must not be a private address; the operator can allow this host with PARLEY_ALLOW_PRIVATE_ADDRESSES',
      );
  }

  function store({ userId, keyId }: Writer, sent: NewWebhook, secret: string) {
    const id = `wh_${nextId()}`;
    const { url, events, description, format = 'parley' } = sent;
    const isHidden = format !== 'parley';
    const credentials = packCredentials({ secret, url: isHidden ? url : undefined });
    return storeEncrypted(vault, () =>
      database.run(createWebhook, {
        id,
        userId,
        url: isHidden ? maskedUrl(url) : url,
        events: JSON.stringify(events),
        sealed: vault.encrypt(credentials, ownerOf({ table: 'webhooks', userId, name: [id] })),
        description: description || null,
        format,
        by: keyId,
      }),
    );
  }

  /** The secret is only in this response, and encrypted in the database. */
  async function create(writer: Writer, sent: NewWebhook): Promise<CreatedWebhook> {
    refuseEvents(sent);
    await refuseAddress(sent.url);
    const secret = createWebhookSecret();
    const stored = await store(writer, sent, secret);
    switch (stored.outcome) {
      case 'created':
        return { ...toRecord(stored.webhook), secret };
      case 'too_many':
        throw new AppError(
          'limit_reached',
          `At most ${webhooksMax} webhooks can be stored; delete one first.`,
        );
    }
  }

  async function list({ userId }: Principal): Promise<WebhookRecord[]> {
    return (await database.run(listWebhooks, { userId })).map(toRecord);
  }

  /** Nothing more is sent to it, except for attempts in progress. Pending deliveries are deleted. */
  async function remove({ userId, keyId }: Writer, id: string): Promise<void> {
    if (!(await database.run(deleteWebhook, { id, userId, by: keyId }))) throw notFound();
    while ((await database.run(dropDeliveries, { webhookId: id, max: batchMax })) === batchMax);
  }

  async function deliveries(
    { userId }: Principal,
    webhookId: string,
    page: DeliveryPage,
  ): Promise<DeliveryList> {
    const size = pageSize(page);
    const found = await database.run(listDeliveries, {
      webhookId,
      userId,
      states: page.state === undefined ? deliveryStates : [page.state],
      before: page.page_id,
      // One more row shows whether there is another page.
      max: size + 1,
    });
    if (found === undefined) throw notFound();
    const shown = found.slice(0, size);
    return {
      deliveries: shown.map(toDelivery),
      next_page_id: found.length > size ? (shown.at(-1)?.id ?? null) : null,
    };
  }

  /** Redelivers all failed deliveries of the webhook, or one; 0 if that one has not failed. */
  async function redeliverFailed(
    { userId }: Principal,
    webhookId: string,
    deliveryId?: string,
  ): Promise<number> {
    const count = await redeliverAll(database, { webhookId, userId, deliveryId });
    if (count === undefined) throw notFound(deliveryId === undefined ? 'webhook' : 'delivery');
    wake();
    return count;
  }

  return { create, list, remove, deliveries, redeliver: redeliverFailed };
}
