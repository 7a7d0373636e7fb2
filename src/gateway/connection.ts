// Connections to the providers of models: to addresses that were checked, kept open between the requests of a run.
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

const connectMs = 15_000;
/** From the last byte that was sent to the first of the answer: models think long. */
const answerMs = 15 * 60_000;
/** Between two bytes of an answer. */
const idleMs = 5 * 60_000;
const openMax = 64;

export interface ModelRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly rule: AddressRule;
  readonly signal: AbortSignal;
}

export interface Connections {
  /** Settles with the head of the answer. Rejects with OutgoingError. */
  send(request: ModelRequest): Promise<IncomingMessage>;
  close(): void;
}

interface Agents {
  readonly 'http:': HttpAgent;
  readonly 'https:': HttpsAgent;
}

export function createConnections(lookup: Lookup = lookUp): Connections {
  /** One set for each rule, so that no connection outlives the one it was checked by. */
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

  function send({ url, headers, body, rule, signal }: ModelRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(toOutgoingError(error, connectMs));
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
      request.setTimeout(answerMs, () => request.destroy(timedOut(answerMs)));
      request.once('error', (error) => {
        clearTimeout(connecting);
        fail(error);
      });
      request.once('response', (response) => {
        clearTimeout(connecting);
        request.setTimeout(idleMs, () => request.destroy(timedOut(idleMs)));
        resolve(response);
      });
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
