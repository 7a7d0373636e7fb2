// Checks what a client sends before the protocol handles it: bounds the requests that are in progress, and answers or drops
// what is not a valid message, so that nobody can fill the memory or the log of the service.
import { RequestError, type Stream } from '@agentclientprotocol/sdk';
import { isObject, type JsonObject } from '../text/foreignText.ts';
import { mib } from '../validation/schema.ts';

type Message = Stream['writable'] extends WritableStream<infer Each> ? Each : never;
type Id = string | number | null;

/** Requests of one client that are in progress. */
export const requestsMax = 256;
/** For all requests in progress of one client. */
const requestBytesMax = 32 * mib;
/** For all requests in progress of all clients of a process. */
const totalBytesMax = 256 * mib;

const cancelMethod = 'session/cancel';

/** The bytes of the requests that are in progress, of all clients together. */
export interface RequestBytes {
  used: number;
}

interface GuardOptions {
  /** How long a message was when it arrived. */
  readonly bytesOf?: (message: object) => number;
  readonly total?: RequestBytes;
}

function isId(value: unknown): value is Id {
  return value === null || typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
}

type Received =
  | { readonly kind: 'request'; readonly id: Id }
  | { readonly kind: 'response'; readonly id: unknown }
  | { readonly kind: 'invalid'; readonly id: Id }
  | { readonly kind: 'notification' | 'nothing' };

function classify(message: JsonObject): Received {
  const { jsonrpc, method, id } = message;
  if ('method' in message) {
    const usableId = isId(id) ? id : null;
    if (jsonrpc !== '2.0' || typeof method !== 'string') return { kind: 'invalid', id: usableId };
    if (!('id' in message)) return { kind: 'notification' };
    return isId(id) ? { kind: 'request', id } : { kind: 'invalid', id: null };
  }
  if ('id' in message) return { kind: 'response', id };
  // A broken response is not answered, because that would look like a response to it.
  return 'result' in message || 'error' in message ? { kind: 'nothing' } : { kind: 'invalid', id: null };
}

/** Whether a notification can be handled. The others have no effect, and would only fill the log. */
function isHandled({ method, params }: JsonObject): boolean {
  return method !== cancelMethod || (isObject(params) && typeof params['sessionId'] === 'string');
}

function refusal(id: Id, error: RequestError): Message {
  return { jsonrpc: '2.0', id, error: error.toErrorResponse() } as Message;
}

const tooMany = () =>
  new RequestError(-32_600, 'Too many requests of this client are in progress. Wait for their responses.', {
    requestsMax,
  });
const tooMuch = () =>
  new RequestError(
    -32_600,
    'The requests in progress are too large together. Wait for their responses, and try again.',
  );
const repeatedId = () => new RequestError(-32_600, 'Another request with this id is in progress.');

export function guardStream(
  stream: Stream,
  { bytesOf = () => 0, total = { used: 0 } }: GuardOptions = {},
): Stream {
  const reader = stream.readable.getReader();
  const writer = stream.writable.getWriter();
  /** The requests of the client in progress, with their size. */
  const requests = new Map<Id, number>();
  /** The requests to the client that it has not answered. */
  const asked = new Set<unknown>();
  let used = 0;

  function finish(id: Id): void {
    const bytes = requests.get(id) ?? 0;
    requests.delete(id);
    used -= bytes;
    total.used -= bytes;
  }

  /** Returns why the request is refused, if it is. */
  function begin(id: Id, bytes: number): RequestError | undefined {
    if (requests.has(id)) return repeatedId();
    if (requests.size >= requestsMax) return tooMany();
    if (used + bytes > requestBytesMax || total.used + bytes > totalBytesMax) return tooMuch();
    requests.set(id, bytes);
    used += bytes;
    total.used += bytes;
    return undefined;
  }

  /** Returns whether the message is to be handled, or else the response to it, if any. */
  function examine(message: JsonObject): { readonly response?: Message } | 'handle' {
    const received = classify(message);
    switch (received.kind) {
      case 'request': {
        const error = begin(received.id, bytesOf(message));
        return error === undefined ? 'handle' : { response: refusal(received.id, error) };
      }
      case 'notification':
        return isHandled(message) ? 'handle' : {};
      case 'response':
        return asked.delete(received.id) ? 'handle' : {};
      case 'invalid':
        return { response: refusal(received.id, RequestError.invalidRequest()) };
      case 'nothing':
        return {};
    }
  }

  function end(): void {
    for (const id of [...requests.keys()]) finish(id);
  }

  const readable = new ReadableStream<Message>(
    {
      pull: async (controller) => {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) {
            end();
            return controller.close();
          }
          const verdict = isObject(value) ? examine(value) : {};
          if (verdict === 'handle') return controller.enqueue(value);
          // Nothing more is read from a client that does not read its responses.
          if (verdict.response !== undefined) await writer.write(verdict.response);
        }
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );

  const writable = new WritableStream<Message>({
    write: async (message) => {
      const sent = message as unknown as JsonObject;
      const isRequest = 'method' in sent && 'id' in sent;
      if (isRequest) asked.add(sent['id']);
      await writer.write(message);
      if (!('method' in sent)) finish(sent['id'] as Id);
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
  return { readable, writable };
}
