// One request to the service, from what is asked for to its answer or a ParleyError.
import { answerBytesMax, errorBytesMax, readJson } from './answers.ts';
import { ParleyError, type ParleyErrorCode } from './errors.ts';
import { startTimer } from './pause.ts';
import type { Detail } from './types.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string | undefined;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
}

export interface Ask {
  readonly method?: string;
  readonly query?: object | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** For answers that take as long as they take, while something comes: the time is that between two pieces. */
  readonly isLong?: boolean;
}

function queryText(query: object = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** Of a place that others name. */
const shownCharsMax = 200;

interface SentError {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly request_id?: unknown;
  readonly details?: unknown;
}

/** Whoever asks for more is mistaken. */
const retryAfterMsMax = 3_600_000;

/** Seconds or a date; undefined where it is neither. */
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
    // Not ours: a proxy, or another program.
  }
  const ours = typeof sent.error === 'string' && typeof sent.code === 'string';
  const message = ours ? String(sent.error) : `The answer is not one of Parley; its status is ${status}.`;
  return new ParleyError(ours ? (sent.code as ParleyErrorCode) : 'unexpected', message, {
    status,
    details: Array.isArray(sent.details) ? sent.details.filter(isDetail) : [],
    requestId: typeof sent.request_id === 'string' ? sent.request_id : undefined,
    retryAfterMs: retryAfterMs(headers),
  });
}

/** What a broken connection, a passed time and the caller's own signal come to. */
export function toFault(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof ParleyError) return error;
  return new ParleyError('network', 'The service cannot be reached, or the connection broke.', {
    cause: error,
  });
}

/** How much longer than a whole answer two pieces of a long one may be apart: it has to be made first. */
const longFactor = 4;

/** Calls `work` with a signal that ends with the caller's, and after a time, which a long answer begins anew. */
async function bounded<Out>(
  { signal, timeoutMs: usualMs = Number.POSITIVE_INFINITY, isLong = false }: Ask,
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

/** What is wrong before anything is sent is of the caller: another try would not go better. */
function prepare({ url, key }: Connection, path: string, ask: Ask): [url: string, init: RequestInit] {
  const { method = 'GET', query, body, headers, signal } = ask;
  try {
    const sent = new Headers({
      ...(key === undefined ? {} : { 'x-session-api-key': key }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    });
    const init: RequestInit = {
      method,
      headers: sent,
      // The key goes nowhere else.
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    return [`${url}${path}${queryText(query)}`, init];
  } catch {
    // What was thrown may hold the key.
    throw new ParleyError(
      'invalid',
      'This cannot be sent: the key or a header holds what HTTP does not take, or the body is no JSON.',
    );
  }
}

function toRedirectError({ status, headers }: Response): ParleyError {
  const place = headers.get('location')?.slice(0, shownCharsMax);
  const where = place === undefined ? 'elsewhere' : `to ${place}`;
  return new ParleyError(
    'unexpected',
    `The answer redirects ${where}: the key is sent to no other address.`,
    {
      status,
    },
  );
}

/** The answer as soon as its head is there. Throws a ParleyError where it is no success. */
export async function open(connection: Connection, path: string, ask: Ask): Promise<Response> {
  const response = await connection.fetch(...prepare(connection, path, ask));
  if (response.ok) return response;
  // Pages are not shown where it goes, and get 0.
  if (response.type !== 'opaqueredirect' && !(response.status >= 300 && response.status < 400))
    throw await toError(response);
  await response.body?.cancel();
  throw toRedirectError(response);
}

/** The whole answer, as `read` takes it. Throws a ParleyError, or the reason of the caller's signal. */
export function request<Out>(
  connection: Connection,
  path: string,
  ask: Ask,
  read: (response: Response, onPiece: () => void) => Promise<Out>,
): Promise<Out> {
  const timed = { ...ask, timeoutMs: ask.timeoutMs ?? connection.timeoutMs };
  return bounded(timed, async (signal, onPiece) =>
    read(await open(connection, path, { ...ask, signal }), onPiece),
  );
}

/** The whole answer, as JSON. */
export function requestJson<Out>(
  connection: Connection,
  path: string,
  ask: Ask = {},
  bytesMax = answerBytesMax,
): Promise<Out> {
  return request(
    connection,
    path,
    ask,
    async (response, onPiece) => (await readJson(response, { bytesMax, onPiece })) as Out,
  );
}
