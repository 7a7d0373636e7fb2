// The proxy from a sandbox to other servers. It connects only to addresses that it has checked, never to this machine,
// and to private ones only if the operator allows it.
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isThisMachine } from '../outgoing/addresses.ts';
import { OutgoingError, timedOut, toOutgoingError } from '../outgoing/errors.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { bareHost, checkLiteral, createCheckedLookup, type Lookup, lookUp } from '../outgoing/resolve.ts';
import type { Egress } from './bridge.ts';
import { endToEnd } from './headers.ts';

export interface EgressOptions {
  /** Evaluated for each connection. This machine can never be reached, whatever it returns. */
  readonly allowPrivate: AllowPrivate;
  readonly lookup?: Lookup;
  /** Decides which addresses can never be reached; tests use another one. */
  readonly isOffLimits?: (address: string) => boolean;
  /** Concurrent connections of the run. */
  readonly connectionsMax?: number;
  readonly connectMs?: number;
  /** A connection that is idle for this long is closed. */
  readonly idleMs?: number;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

const connectionsMaxDefault = 128;
const connectMsDefault = 15_000;
const idleMsDefault = 10 * 60_000;
/** SMTP between servers: agents do not need it, but spam does. */
const refusedPorts = new Set([25]);

const statusOf = { address_not_allowed: 403, timeout: 504, busy: 503 } as const;
const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** A response for the program inside: a status and a sentence about the other server. */
interface Refusal {
  readonly status: number;
  readonly sentence: string;
}

const malformed: Refusal = { status: 400, sentence: 'The address of the request cannot be understood.' };
const unusable: Refusal = { status: 502, sentence: 'Its answer cannot be passed on.' };
const busy: Refusal = { status: statusOf.busy, sentence: 'This run has too many connections open.' };

function refusalOf(thrown: unknown, connectMs: number): Refusal {
  const { code, message } = toOutgoingError(thrown, connectMs);
  const status = code === 'address_not_allowed' || code === 'timeout' ? statusOf[code] : 502;
  return { status, sentence: message };
}

/** `host:port` of a CONNECT. */
function parseAuthority(text: string): Target | undefined {
  const [, host = '', digits = ''] = /^([^\s:/@[\]]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  return host === '' || port < 1 || port > 65_535 ? undefined : { host: bareHost(host), port };
}

/** The URL of a plain request. */
function parseUrl(text: string): (Target & { readonly url: URL }) | undefined {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || url.username !== '' || url.password !== '')
    return undefined;
  return { url, host: bareHost(url.hostname), port: Number(url.port || 80) };
}

function refuseSocket(socket: Duplex, { status, sentence }: Refusal): void {
  const length = Buffer.byteLength(sentence) + 1;
  socket.end(
    `HTTP/1.1 ${status} ${reasons[status]}\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${sentence}\n`,
  );
}

function refuseRequest(response: ServerResponse, { status, sentence }: Refusal): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { 'content-type': 'text/plain' }).end(`${sentence}\n`);
}

/** Never throws, because nobody could catch it: a server may send an invalid status. */
function passBack(answer: IncomingMessage, response: ServerResponse): void {
  answer.on('error', () => response.destroy());
  try {
    response.writeHead(answer.statusCode ?? unusable.status, endToEnd(answer.headers));
    answer.pipe(response);
  } catch {
    answer.destroy();
    refuseRequest(response, unusable);
  }
}

/** For methods that usually have no body, Node would send one of unknown length without framing. */
function framing({ headers }: IncomingMessage): Record<string, string> {
  return headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' };
}

/** Forwards both directions until one end closes or both are idle. */
function join(inner: Duplex, outer: Socket, idleMs: number): void {
  outer.setTimeout(idleMs, () => outer.destroy());
  inner.on('close', () => outer.destroy());
  outer.on('close', () => inner.destroy());
  inner.pipe(outer);
  outer.pipe(inner);
}

/** The egress of one run. */
export function createEgress(options: EgressOptions): Egress {
  const { allowPrivate, lookup = lookUp, isOffLimits = isThisMachine } = options;
  const {
    connectionsMax = connectionsMaxDefault,
    connectMs = connectMsDefault,
    idleMs = idleMsDefault,
  } = options;
  let open = 0;

  /** Counts a connection of the run until its inner end is closed. */
  function enter(inner: Duplex | ServerResponse): boolean {
    if (open >= connectionsMax) return false;
    open++;
    inner.once('close', () => {
      open--;
    });
    return true;
  }

  /** The options of a socket that can reach only the target. Throws if the target is not allowed. */
  async function admit({ host, port }: Target) {
    if (refusedPorts.has(port))
      throw new OutgoingError('address_not_allowed', `Its port, ${port}, is never connected to.`);
    const rule = { private: await allowPrivate(), port, isOffLimits };
    checkLiteral(host, rule);
    return { host, port, lookup: createCheckedLookup(lookup, rule) };
  }

  async function tunnel(target: Target, inner: Duplex, head: Buffer): Promise<void> {
    const admitted = await admit(target);
    if (inner.destroyed) return;
    const outer = connect({ ...admitted, allowHalfOpen: true });
    const refuse = (error: Error) => {
      outer.destroy();
      refuseSocket(inner, refusalOf(error, connectMs));
    };
    const giveUp = () => outer.destroy();
    inner.once('close', giveUp);
    outer.setTimeout(connectMs, () => refuse(timedOut(connectMs)));
    outer.once('error', refuse);
    outer.once('connect', () => {
      outer.off('error', refuse);
      outer.on('error', giveUp);
      outer.removeAllListeners('timeout');
      inner.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) outer.write(head);
      join(inner, outer, idleMs);
    });
  }

  async function pass(target: Target & { url: URL }, request: IncomingMessage, response: ServerResponse) {
    const admitted = await admit(target);
    if (response.destroyed) return;
    const { url } = target;
    const outer = openRequest({
      ...admitted,
      agent: false,
      method: request.method ?? 'GET',
      path: url.pathname + url.search,
      headers: { ...endToEnd(request.headers), ...framing(request), host: url.host },
    });
    // Node's own timeouts start after the connection.
    const connecting = setTimeout(() => outer.destroy(timedOut(connectMs)), connectMs);
    outer.once('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
    outer.once('close', () => clearTimeout(connecting));
    outer.setTimeout(idleMs, () => outer.destroy(timedOut(idleMs)));
    outer.on('error', (error) => refuseRequest(response, refusalOf(error, connectMs)));
    outer.on('response', (answer) => passBack(answer, response));
    // The server wants another protocol, which nobody asked for.
    outer.on('upgrade', (_, socket) => {
      socket.on('error', () => {}).destroy();
      refuseRequest(response, unusable);
    });
    response.once('close', () => outer.destroy());
    request.on('error', () => outer.destroy());
    request.pipe(outer);
  }

  return {
    connect: (request, inner, head) => {
      const target = parseAuthority(request.url ?? '');
      inner.on('error', () => inner.destroy());
      if (target === undefined) refuseSocket(inner, malformed);
      else if (!enter(inner)) refuseSocket(inner, busy);
      else tunnel(target, inner, head).catch((error) => refuseSocket(inner, refusalOf(error, connectMs)));
    },
    forward: (request, response) => {
      const target = parseUrl(request.url ?? '');
      if (target === undefined) refuseRequest(response, malformed);
      else if (!enter(response)) refuseRequest(response, busy);
      else
        pass(target, request, response).catch((error) =>
          refuseRequest(response, refusalOf(error, connectMs)),
        );
    },
  };
}
