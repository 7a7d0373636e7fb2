// Sends one request to the service, and returns its response or throws a ParleyError.

import { ParleyError, type ParleyErrorCode } from './errors.ts';
import { startTimer } from './pause.ts';
import { errorBytesMax, readJson, responseBytesMax } from './responses.ts';
import type { Detail } from './types.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Connection {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string | undefined;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
}

export interface RequestOptions {
  readonly method?: string;
  readonly query?: object | undefined;
  /** Sent as JSON, unless it is a form. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** For responses of any length: the timeout applies to the time between two pieces. */
  readonly isLong?: boolean;
}

function queryText(query: object = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** The limit of the target of a redirect in an error message. */
const shownCharsMax = 200;

interface SentError {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly request_id?: unknown;
  readonly details?: unknown;
}

/** Longer delays of a service are shortened to this. */
const retryAfterMsMax = 3_600_000;

/** Reads seconds or a date. Returns undefined if it is neither. */
function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), retryAfterMsMax);
}

function isDetail(value: unknown): value is Detail {
  const { path, message } = (value ?? {}) as Partial<Record<keyof Detail, unknown>>;
  return typeof path === 'string' && typeof message === 'string';
}

async function toError(response: Response): Promise<ParleyError> {
  const { status, headers } = response;
  let sent: SentError = {};
  try {
    const reading = { bytesMax: errorBytesMax, onPiece: () => {} };
    sent = ((await readJson(response, reading)) as SentError | null) ?? {};
  } catch {
    // The error comes from a proxy or another program.
  }
  const ours = typeof sent.error === 'string' && typeof sent.code === 'string';
  const message = ours
    ? String(sent.error)
    : `The response does not come from Parley; its status is ${status}.`;
  return new ParleyError(ours ? (sent.code as ParleyErrorCode) : 'unexpected', message, {
    status,
    details: Array.isArray(sent.details) ? sent.details.filter(isDetail) : [],
    requestId: typeof sent.request_id === 'string' ? sent.request_id : undefined,
    retryAfterMs: retryAfterMs(headers),
  });
}

/** Converts a broken connection or a timeout to a ParleyError. If the caller aborted, returns the caller's reason. */
export function toFault(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ParleyError) return error;
  return new ParleyError('network', 'The service cannot be reached, or the connection broke.', {
    cause: error,
  });
}

/** The first piece of a long response takes longer than a short response, because the service must create it first. */
const longFactor = 4;

/** Calls `work` with a signal that the caller or the timeout aborts. Each piece of a long response resets the timeout. */
async function withDeadline<Out>(
  { signal, timeoutMs: usualMs = Number.POSITIVE_INFINITY, isLong = false }: RequestOptions,
  work: (signal: AbortSignal, onPiece: () => void) => Promise<Out>,
): Promise<Out> {
  const timeoutMs = isLong ? usualMs * longFactor : usualMs;
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });
  const late = () =>
    ending.abort(new ParleyError('timeout', `The service did not answer within ${timeoutMs / 1_000} s.`));
  let timer = startTimer(timeoutMs, late);
  const onPiece = () => {
    if (!isLong) return;
    clearTimeout(timer);
    timer = startTimer(timeoutMs, late);
  };
  try {
    return await work(ending.signal, onPiece);
  } catch (error) {
    throw toFault(error, signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/** Errors before sending are mistakes of the caller, so a retry would not help. */
function prepare(
  { url, key }: Connection,
  path: string,
  options: RequestOptions,
): [url: string, init: RequestInit] {
  const { method = 'GET', query, body, headers, signal } = options;
  // `fetch` sets the type of a form itself, with its boundary.
  const isForm = body instanceof FormData;
  try {
    const sent = new Headers({
      ...(key === undefined ? {} : { 'x-session-api-key': key }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    });
    const init: RequestInit = {
      method,
      headers: sent,
      // The key must not be sent to another server.
      redirect: 'manual',
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    return [`${url}${path}${queryText(query)}`, init];
  } catch {
    // The message of the original error may contain the key.
    throw new ParleyError(
      'invalid',
      'The request cannot be sent: the API key or a header contains invalid characters, or the body is not JSON.',
    );
  }
}

function toRedirectError({ status, headers }: Response): ParleyError {
  const target = headers.get('location')?.slice(0, shownCharsMax);
  const where = target === undefined ? '' : ` to ${target}`;
  return new ParleyError(
    'unexpected',
    `The response redirects${where}. The API key is not sent to another URL.`,
    {
      status,
    },
  );
}

/** Returns the response as soon as its headers have arrived. Throws a ParleyError unless it is successful. */
export async function open(connection: Connection, path: string, options: RequestOptions): Promise<Response> {
  const response = await connection.fetch(...prepare(connection, path, options));
  if (response.ok) return response;
  // Browsers hide the target and report the status 0.
  if (response.type !== 'opaqueredirect' && !(response.status >= 300 && response.status < 400))
    throw await toError(response);
  await response.body?.cancel();
  throw toRedirectError(response);
}

/** Reads the whole response with `read`. Throws a ParleyError, or the reason of the caller's signal. */
export function request<Out>(
  connection: Connection,
  path: string,
  options: RequestOptions,
  read: (response: Response, onPiece: () => void) => Promise<Out>,
): Promise<Out> {
  const timed = { ...options, timeoutMs: options.timeoutMs ?? connection.timeoutMs };
  return withDeadline(timed, async (signal, onPiece) =>
    read(await open(connection, path, { ...options, signal }), onPiece),
  );
}

/** Reads the whole response as JSON. */
export function requestJson<Out>(
  connection: Connection,
  path: string,
  options: RequestOptions = {},
  bytesMax = responseBytesMax,
): Promise<Out> {
  return request(
    connection,
    path,
    options,
    async (response, onPiece) => (await readJson(response, { bytesMax, onPiece })) as Out,
  );
}
