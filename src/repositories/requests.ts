// Requests to Git providers with the access token of a user. Responses are cached by ETag, because providers do not
// count requests whose answer has not changed; rate limits, times and concurrency are bounded here for all of them.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AppError } from '../errors.ts';
import {
  createForgeExchange,
  type ForgeHost,
  type ForgeResponse,
  graphqlUrl,
  parseJson,
} from '../forge/exchange.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import type { Clock } from '../process/clock.ts';
import { createGate, gaveUp } from '../process/gate.ts';
import { isObject, type JsonObject } from '../text/foreignText.ts';
import { kib, mib } from '../validation/schema.ts';
import { connectionFault, malformed, nameOf, rateLimited, statusFault, tookTooLong } from './faults.ts';
import { createPauses, isRateLimited, waitMsOf } from './rateLimits.ts';

export interface ProviderTimes {
  /** For one request to a provider. */
  readonly exchangeMs: number;
  /** For all requests to providers that one request of a client takes. */
  readonly requestMs: number;
}

export const providerTimes: ProviderTimes = { exchangeMs: 10_000, requestMs: 25_000 };

const responseBytesMax = 4 * mib;
const cacheBytesMax = 32 * mib;
const cachedResponseBytesMax = mib;
const cachedMs = 3_600_000;
/** What an entry takes in addition to its texts. */
const entryBytes = kib;
/** No provider returns more on one page. */
const itemsMax = 100;

/** Per process, for requests to providers. One request of a client may take several of them. */
const gateBounds = { atOnceMax: 32, userAtOnceMax: 6, waitingMax: 512, userWaitingMax: 128 };
const busy = 'Too many requests to Git providers are in progress; try again.';

type Query = Readonly<Record<string, string>>;

export interface ListAnswer {
  readonly items: readonly JsonObject[];
  readonly headers: Headers;
  /** The object around the list, if there is one. */
  readonly body: JsonObject;
}

/** Asks one provider with one token. Paths start with a slash, below the REST API. All methods throw AppError. */
export interface AskProvider {
  readonly object: (path: string, query?: Query) => Promise<JsonObject>;
  /** `field` is the field of the list if it is within an object. */
  readonly list: (path: string, query?: Query, field?: string) => Promise<ListAnswer>;
  readonly text: (path: string, query?: Query, accept?: string) => Promise<string>;
  /** The data of a GraphQL query. Errors beside it are ignored, because they concern parts that are null then. */
  readonly graphql: (query: string, variables: JsonObject) => Promise<JsonObject>;
  /** The error for a response that is not what the provider documents. */
  readonly malformed: () => AppError;
}

export interface ProviderAccess {
  readonly userId: number;
  readonly host: ForgeHost;
  readonly api: string;
  readonly token: string;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  /** Aborted when the time for the request of the client is over. */
  readonly late: AbortSignal;
}

interface RequestsOptions {
  readonly allowPrivate: AllowPrivate;
  readonly clock: Clock;
  readonly times: ProviderTimes;
}

interface Cached {
  readonly etag: string;
  readonly text: string;
  readonly headers: Headers;
}

interface Sent {
  readonly query?: Query | undefined;
  readonly accept?: string | undefined;
  readonly json?: object;
}

function createResponseCache() {
  return new LRUCache<string, Cached>({
    maxSize: cacheBytesMax,
    maxEntrySize: cachedResponseBytesMax,
    // A character takes up to two bytes.
    sizeCalculation: ({ text, etag }, key) => entryBytes + 2 * (text.length + etag.length + key.length),
    ttl: cachedMs,
  });
}

const keptHeaderNames = ['link', 'x-next-page', 'x-total', 'retry-after', 'x-ratelimit-reset'];

/** The headers that are read later; the rest is not kept. */
function keptHeaders(headers: Headers): Headers {
  const kept = new Headers();
  for (const name of keptHeaderNames) {
    const value = headers.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept;
}

export function createProviderRequests({ allowPrivate, clock, times }: RequestsOptions) {
  const cache = createResponseCache();
  const pauses = createPauses(clock);
  const gate = createGate(gateBounds, busy);

  return function openProvider({ userId, host, api, token, gone, late }: ProviderAccess): AskProvider {
    const name = nameOf(host);
    const tokenKey = [userId, host.provider, host.origin, hash('sha256', token)].join(' ');
    const signal = AbortSignal.any([gone, late]);
    const send = createForgeExchange({
      host,
      token,
      allowPrivate,
      timeoutMs: times.exchangeMs,
      responseBytesMax,
    });

    function toAppError(error: unknown): unknown {
      if (gone.aborted) return gaveUp();
      if (late.aborted) return tookTooLong(name);
      return error instanceof OutgoingError ? connectionFault(name, error) : error;
    }

    function pause(headers: Headers): AppError {
      const waitMs = waitMsOf(headers, clock.now());
      pauses.pause(tokenKey, waitMs);
      return rateLimited(name, waitMs);
    }

    async function exchange(url: string, sent: Sent, etag: string | undefined): Promise<ForgeResponse> {
      const leaveGate = await gate.enter(userId, signal);
      try {
        const leftMs = pauses.leftMs(tokenKey);
        if (leftMs > 0) throw rateLimited(name, leftMs);
        const headers = {
          ...(sent.accept === undefined ? {} : { accept: sent.accept }),
          ...(etag === undefined ? {} : { 'if-none-match': etag }),
        };
        return await send(url, { query: sent.query, json: sent.json, headers, signal });
      } finally {
        leaveGate();
      }
    }

    async function request(url: string, sent: Sent): Promise<Pick<Cached, 'text' | 'headers'>> {
      const key = [tokenKey, url, new URLSearchParams(sent.query), sent.accept].join(' ');
      const cached = sent.json === undefined ? cache.get(key) : undefined;
      const response = await exchange(url, sent, cached?.etag).catch((error: unknown) => {
        throw toAppError(error);
      });
      const { status, text } = response;
      if (status === 304 && cached !== undefined) return cached;
      if (isRateLimited(response)) throw pause(response.headers);
      if (status < 200 || status > 299) throw statusFault(name, status);
      const headers = keptHeaders(response.headers);
      const etag = response.headers.get('etag');
      if (etag !== null && sent.json === undefined) cache.set(key, { etag, text, headers });
      return { text, headers };
    }

    async function requestJson(url: string, sent: Sent): Promise<{ body: unknown; headers: Headers }> {
      const { text, headers } = await request(url, sent);
      return { body: parseJson(text), headers };
    }

    return {
      object: async (path, query) => {
        const { body } = await requestJson(`${api}${path}`, { query });
        if (!isObject(body)) throw malformed(name);
        return body;
      },
      list: async (path, query, field) => {
        const { body, headers } = await requestJson(`${api}${path}`, { query });
        const outer = isObject(body) ? body : {};
        const items = field === undefined ? body : outer[field];
        if (!Array.isArray(items) || !items.every(isObject)) throw malformed(name);
        return { items: items.slice(0, itemsMax), headers, body: outer };
      },
      text: async (path, query, accept) => (await request(`${api}${path}`, { query, accept })).text,
      graphql: async (query, variables) => {
        const { body, headers } = await requestJson(graphqlUrl(api), { json: { query, variables } });
        const { data, errors } = isObject(body) ? body : {};
        if (isObject(data)) return data;
        const isLimit =
          Array.isArray(errors) && errors.some((one) => isObject(one) && one['type'] === 'RATE_LIMITED');
        throw isLimit ? pause(headers) : malformed(name);
      },
      malformed: () => malformed(name),
    };
  };
}
