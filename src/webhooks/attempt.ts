// One attempt of a delivery: reads the data, signs and sends it, and returns the outcome.
import type { Database } from '../db/transaction.ts';
import { DecryptionError } from '../encryption/encrypt.ts';
import { ownerOf } from '../encryption/store.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError } from '../errors.ts';
import type { Change } from '../events/changes/schema.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import type { OutgoingFetch } from '../outgoing/fetch.ts';
import { version } from '../process/version.ts';
import { type ChatMessage, statusMessage, waitingMessage } from './chat/chatMessage.ts';
import { type ChatRequest, toChatRequest } from './chat/formats.ts';
import { unpackCredentials } from './chat/hiddenUrl.ts';
import { type ClaimedDelivery, findDeliveredEvent } from './outboxStore.ts';
import type { WebhookFormat } from './schema.ts';
import { signedHeaders } from './signing.ts';
import { readWaiting, type WaitingData } from './waiting.ts';

const goneStatus = 410;

export type AttemptOutcome =
  | { readonly outcome: 'delivered' }
  /** The data does not exist any more. */
  | { readonly outcome: 'pointless' }
  | {
      readonly outcome: 'failed';
      readonly status: number | null;
      /** A sentence without the URL. */
      readonly error: string;
      /** Another attempt would fail the same way. */
      readonly final: boolean;
    };

export interface AttemptOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly fetch: OutgoingFetch;
  readonly now: () => number;
  /** Where people open conversations. */
  readonly publicUrl?: string | undefined;
}

function failed(error: string, { status = null as number | null, final = false } = {}): AttemptOutcome {
  return { outcome: 'failed', status, error, final };
}

/** What is sent; undefined if the data does not exist any more. */
async function findRequest(
  options: AttemptOptions,
  delivery: ClaimedDelivery,
): Promise<ChatRequest | undefined> {
  const { type, created_at } = delivery;
  const format = delivery.format as WebhookFormat;
  const data = await findData(options, delivery);
  if (data === undefined) return undefined;
  if (format !== 'parley') return toChatRequest(format, toChatMessage(type, data, options.publicUrl));
  const timestamp = new Date(created_at).toISOString();
  const body = `{"type":${JSON.stringify(type)},"timestamp":"${timestamp}","data":${data}}`;
  return { contentType: 'application/json', body };
}

/** The JSON of `data`; undefined if it does not exist any more. */
async function findData(
  { database, publicUrl }: AttemptOptions,
  delivery: ClaimedDelivery,
): Promise<string | undefined> {
  const { user_id, conversation_key, conversation_id, event_id, payload } = delivery;
  if (event_id === null) return payload ?? undefined;
  const place = {
    userId: user_id,
    conversationKey: conversation_key,
    conversationId: conversation_id,
    eventId: event_id,
  };
  const json = await database.run(findDeliveredEvent, place);
  if (json === undefined) return undefined;
  if (payload !== null)
    return JSON.stringify(await readWaiting({ database, payload, place, json, publicUrl }));
  return `{"conversation_id":${JSON.stringify(conversation_id)},"event":${json}}`;
}

function toChatMessage(type: string, data: string, publicUrl: string | undefined): ChatMessage {
  return type === 'conversation.waiting'
    ? waitingMessage(JSON.parse(data) as WaitingData)
    : statusMessage(JSON.parse(data) as Change, publicUrl);
}

function describeStatus(status: number): AttemptOutcome {
  if (status >= 200 && status < 300) return { outcome: 'delivered' };
  if (status === goneStatus) return failed('It responded with 410 (Gone).', { status, final: true });
  return failed(`It responded with ${status}.`, { status });
}

/** Throws for our own faults, such as an unavailable database. The outcome is unknown then. */
export async function attemptDelivery(
  options: AttemptOptions,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const { vault, fetch, now } = options;
  const { id } = delivery;
  const request = await findRequest(options, delivery);
  if (request === undefined) return { outcome: 'pointless' };
  const { contentType, headers, body } = request;
  try {
    const owner = ownerOf({ table: 'webhooks', userId: delivery.user_id, name: [delivery.webhook_id] });
    const { secret, url = delivery.url } = unpackCredentials(await vault.decrypt(delivery.sealed, owner));
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        ...signedHeaders(secret, { id, timestampS: Math.floor(now() / 1_000), body }),
        'content-type': contentType,
        'user-agent': `Parley/${version}`,
      },
      body,
      signal,
    });
    // Only the status counts.
    await response.body?.cancel();
    return describeStatus(response.status);
  } catch (error) {
    if (signal.aborted) return failed('The service stopped before it answered.');
    if (error instanceof OutgoingError) return failed(error.message);
    if (error instanceof DecryptionError)
      return failed('Its signing secret cannot be decrypted; create a new webhook.', { final: true });
    if (error instanceof AppError && error.code === 'sealing_key_missing') return failed(error.message);
    throw error;
  }
}
