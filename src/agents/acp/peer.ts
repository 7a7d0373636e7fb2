// JSON-RPC over two pipes, with limits. Only the types of the SDK are used, because its client has no backpressure, lets
// a response overtake earlier updates, drops unknown updates, and writes to the console.
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMs, createReadRateLimit } from '../../gateway/readRateLimit.ts';
import { isObject } from '../../text/foreignText.ts';
import { mib } from '../../validation/schema.ts';
import { findTooManyValues } from '../../validation/tooManyValues.ts';
import { AgentError, quote } from './errors.ts';
import { LineTooLongError, readLines } from './lines.ts';

export const messageBytesMax = 16 * mib;
/** Requests of the agent that have no response yet, or whose response it has not read yet. */
const openRequestsMax = 64;
/** The total size of these requests, which are kept until they are answered. */
const openRequestBytesMax = 2 * messageBytesMax;
/** Values in one message. As objects, they take many times the memory of their text. */
const messageValuesMax = 200_000;
const idLengthMax = 200;
/** The share of CPU time that the messages of one agent may take. */
const timeShare = { busyShareMax: 0.25, bytesPerSecondMax: Number.POSITIVE_INFINITY };

export const rpcCodes = { methodNotFound: -32601, invalidParams: -32602, authRequired: -32000 } as const;

/** An error response. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

export type Params = Readonly<Record<string, unknown>>;

interface PeerOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Awaited before anything else is read. */
  onNotification(method: string, params: Params): void | Promise<void>;
  /** Answers a request. An RpcError is sent to the agent; any other error ends the connection. */
  onRequest(method: string, params: Params): Promise<unknown>;
  /** Called for the first line that is not a message. Such lines are ignored. */
  onGarbage(): void;
}

export interface Peer {
  /** Rejects with RpcError, or with the reason why the connection ended. */
  request(method: string, params: Params): Promise<unknown>;
  notify(method: string, params: Params): void;
  /** Rejects pending requests, and ignores further messages. */
  close(reason: AgentError): void;
  /** Ends the connection with an error of Parley. */
  giveUp(error: Error): void;
  /** Resolves at the end of the input, with an error if reading failed. */
  readonly done: Promise<AgentError | undefined>;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Ids are sent back, so they must be valid in JSON-RPC. */
function isId(id: unknown): boolean {
  if (typeof id === 'string') return id.length <= idLengthMax;
  return id === undefined || id === null || typeof id === 'number';
}

/** Returns undefined if the line is not a message. */
function parseMessage(line: Buffer): Params | undefined {
  const fault = findTooManyValues(line, messageValuesMax);
  if (fault !== undefined)
    throw new AgentError('protocol', `The agent sent a message that cannot be read: it ${fault}.`);
  try {
    const message: unknown = JSON.parse(line.toString());
    return isObject(message) && isId(message['id']) ? message : undefined;
  } catch {
    return undefined;
  }
}

function toRpcError(error: unknown): RpcError {
  const { code, message } = isObject(error) ? error : {};
  return new RpcError(
    typeof code === 'number' ? code : 0,
    quote(typeof message === 'string' ? message : 'no message'),
  );
}

function toAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  if (error instanceof LineTooLongError)
    return new AgentError('protocol', `The agent sent a message of more than ${messageBytesMax / mib} MiB.`);
  return new AgentError('consumer', 'An update of the agent could not be recorded.', '', { cause: error });
}

const blanks = Buffer.from(' \t\r');

function isBlank(line: Buffer): boolean {
  return line.every((byte) => blanks.includes(byte));
}

export function createPeer(options: PeerOptions): Peer {
  const { input, output, onNotification, onRequest, onGarbage } = options;
  const waiting = new Map<unknown, Waiting>();
  let nextId = 0;
  let openRequests = 0;
  let openRequestBytes = 0;
  const pace = createReadRateLimit(timeShare);
  let ended: AgentError | undefined;
  let garbageReported = false;
  const gaveUp = Promise.withResolvers<AgentError>();

  const send = (message: Params) =>
    new Promise<void>((resolve) => {
      output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`, () => resolve());
    });

  function close(reason: AgentError): void {
    if (ended !== undefined) return;
    ended = reason;
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
  }

  function giveUp(error: unknown): void {
    const reason = toAgentError(error);
    close(reason);
    gaveUp.resolve(reason);
  }

  async function answer(message: Params, method: string, params: Params, bytes: number): Promise<void> {
    const { id } = message;
    if (openRequests >= openRequestsMax)
      throw new AgentError('protocol', `The agent sent more than ${openRequestsMax} requests at once.`);
    if (openRequestBytes + bytes > openRequestBytesMax)
      throw new AgentError('protocol', 'The agent sent too many requests at once.');
    openRequests += 1;
    openRequestBytes += bytes;
    try {
      const result = await onRequest(method, params);
      await send({ id, result });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      await send({ id, error: { code: error.code, message: error.message } });
    } finally {
      openRequests -= 1;
      openRequestBytes -= bytes;
    }
  }

  function settle({ id, result, error }: Params): void {
    const request = waiting.get(id);
    waiting.delete(id);
    if (error == null) request?.resolve(result);
    else request?.reject(toRpcError(error));
  }

  async function takeMessage(line: Buffer): Promise<void> {
    const message = parseMessage(line);
    if (message === undefined) {
      if (!garbageReported) onGarbage();
      garbageReported = true;
      return;
    }
    const { id, method } = message;
    const params = isObject(message['params']) ? message['params'] : {};
    if (typeof method !== 'string') settle(message);
    else if (id === undefined) await onNotification(method, params);
    else answer(message, method, params, line.length).catch(giveUp);
  }

  /** Delays an agent that takes too much CPU time, so that other work of the process can continue. */
  async function take(line: Buffer): Promise<void> {
    if (ended !== undefined || isBlank(line)) return;
    const began = cpuMs();
    const taken = takeMessage(line);
    const ms = pace.take(line.length, cpuMs() - began);
    await taken;
    if (ms > 0) await pause(ms);
  }

  const read = readLines(input, messageBytesMax, take).catch(giveUp);

  return {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended);
        const id = nextId++;
        waiting.set(id, { resolve, reject });
        send({ id, method, params }).catch(reject);
      }),
    notify: (method, params) => {
      if (ended === undefined) send({ method, params }).catch(giveUp);
    },
    close,
    giveUp,
    done: Promise.race([read.then(() => ended), gaveUp.promise]),
  };
}
