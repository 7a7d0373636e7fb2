// Connections to model providers: only to addresses that were checked, and kept open between the requests of a run.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { timedOut, toOutgoingError } from '../outgoing/errors.ts';
import {
  type AddressRule,
  bareHost,
  checkLiteral,
  createCheckedLookup,
  type Lookup,
  lookUp,
} from '../outgoing/resolve.ts';
import { Refusal } from './refusal.ts';
import type { GatewayTimes } from './times.ts';

/** As many as a bridge has, so that no request waits for another. */
const openMax = 256;

export interface ModelRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly rule: AddressRule;
  readonly signal: AbortSignal;
  /** Called with the address when the whole request was sent. */
  readonly onSent?: (address: string) => void;
}

export interface Connections {
  /** Resolves with the head of the answer. Rejects with OutgoingError, or with Refusal on a timeout. */
  send(request: ModelRequest): Promise<IncomingMessage>;
  close(): void;
}

/** This is not retried, because the user has waited long already. */
function noAnswer(ms: number): Refusal {
  return new Refusal(`The model provider did not respond within ${ms / 1_000} s.`, { failure: 'timeout' });
}

interface Agents {
  readonly 'http:': HttpAgent;
  readonly 'https:': HttpsAgent;
}

export function createConnections(
  { connectMs, firstByteMs }: GatewayTimes,
  lookup: Lookup = lookUp,
): Connections {
  /** One set of agents per rule, so that no connection outlives the rule that it was checked by. */
  const agents = new Map<string, Agents>();

  function agentsFor(rule: AddressRule): Agents {
    const key = JSON.stringify(rule);
    const known = agents.get(key);
    if (known !== undefined) return known;
    const options = { keepAlive: true, maxSockets: openMax, lookup: createCheckedLookup(lookup, rule) };
    const made = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) };
    agents.set(key, made);
    return made;
  }

  function send({ url, headers, body, rule, signal, onSent }: ModelRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) =>
        reject(error instanceof Refusal ? error : toOutgoingError(error, connectMs));
      try {
        checkLiteral(bareHost(url.hostname), rule);
      } catch (error) {
        return fail(error);
      }
      const secure = url.protocol === 'https:';
      const open = secure ? httpsRequest : httpRequest;
      const request = open(url, {
        method: 'POST',
        agent: agentsFor(rule)[secure ? 'https:' : 'http:'],
        headers: { ...headers, 'content-length': String(body.length) },
        signal,
      });
      const connecting = setTimeout(() => request.destroy(timedOut(connectMs)), connectMs);
      request.once('socket', (socket) => {
        const connected = () => clearTimeout(connecting);
        if (socket.connecting) socket.once(secure ? 'secureConnect' : 'connect', connected);
        else connected();
      });
      const answering = setTimeout(() => request.destroy(noAnswer(firstByteMs)), firstByteMs);
      request.on('error', (error) => {
        clearTimeout(connecting);
        clearTimeout(answering);
        fail(error);
      });
      request.once('response', (response) => {
        clearTimeout(connecting);
        clearTimeout(answering);
        resolve(response);
      });
      request.once('finish', () => onSent?.(request.socket?.remoteAddress ?? ''));
      request.end(body);
    });
  }

  return {
    send,
    close: () => {
      for (const { 'http:': http, 'https:': https } of agents.values()) {
        http.destroy();
        https.destroy();
      }
    },
  };
}
