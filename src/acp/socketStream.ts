// The messages of an ACP connection over a WebSocket: one text frame each. A client that sends faster than it is served,
// or reads slower than it is sent to, only slows itself down.
import type { Stream } from '@agentclientprotocol/sdk';
import type { RawData, WebSocket } from 'ws';
import { isObject } from '../text/foreignText.ts';
import { mib } from '../validation/schema.ts';
import { findTooManyValues } from '../validation/tooManyValues.ts';

type Message = Stream['writable'] extends WritableStream<infer Each> ? Each : never;

const messageValuesMax = 100_000;
/** Messages that wait until earlier ones are handled. A single message may be larger. */
const waitingBytesMax = mib;
/** A code of WebSocket: the frame is not text. */
const unsupportedData = 1_003;

const parseError = { jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } };
const invalidRequest = { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'Invalid request' } };

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data as Buffer[]);
  return Buffer.isBuffer(data) ? data : Buffer.from(data as ArrayBuffer);
}

/** Returns the message, or the answer to what is not one. */
function parse(data: Buffer): { readonly message: Message } | { readonly refusal: object } {
  if (findTooManyValues(data, messageValuesMax) !== undefined) return { refusal: invalidRequest };
  try {
    const message: unknown = JSON.parse(data.toString());
    return isObject(message) ? { message: message as Message } : { refusal: invalidRequest };
  } catch {
    return { refusal: parseError };
  }
}

function send(socket: WebSocket, message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(JSON.stringify(message), (error) => (error ? reject(error) : resolve()));
  });
}

function readMessages(socket: WebSocket, sizes: WeakMap<object, number>): ReadableStream<Message> {
  /** Either side may close first. */
  let isOver = false;
  return new ReadableStream(
    {
      start: (controller) => {
        socket.on('message', (data, isBinary) => {
          if (isOver) return;
          if (isBinary) return socket.close(unsupportedData, 'Messages are text frames.');
          const bytes = toBuffer(data);
          const parsed = parse(bytes);
          // If it cannot be written, the socket closes.
          if ('refusal' in parsed) return void send(socket, parsed.refusal).catch(() => {});
          sizes.set(parsed.message, bytes.length);
          controller.enqueue(parsed.message);
          if ((controller.desiredSize ?? 0) <= 0) socket.pause();
        });
        socket.on('close', () => {
          if (!isOver) controller.close();
          isOver = true;
        });
      },
      pull: () => socket.resume(),
      cancel: () => {
        isOver = true;
        socket.close();
      },
    },
    { highWaterMark: waitingBytesMax, size: (message) => sizes.get(message) ?? 0 },
  );
}

export interface SocketStream extends Stream {
  /** How long a message was when it arrived. */
  bytesOf(message: object): number;
}

export function socketStream(socket: WebSocket): SocketStream {
  const sizes = new WeakMap<object, number>();
  return {
    bytesOf: (message) => sizes.get(message) ?? 0,
    readable: readMessages(socket, sizes),
    writable: new WritableStream<Message>({
      write: (message) => send(socket, message),
      close: () => socket.close(),
      abort: () => socket.terminate(),
    }),
  };
}
