// The gateway: the model requests of a run, with the user's key, to the user's model, counted and bounded. Whatever an
// agent cannot mend is answered with 402, which ends the turn of every agent that was tried; others make them retry.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBodies } from '../bridge/bodies.ts';
import type { BridgeHandler } from '../bridge/bridge.ts';
import { type Protocol, protocolBases } from '../models/protocols.ts';
import { type GatewayBounds, usualBounds } from './bounds.ts';
import { createConnections } from './connection.ts';
import { currentModelPath } from './current.ts';
import { createExchange, type ExchangeParts } from './exchange.ts';
import { createNotices, type Notify } from './notices.ts';
import { anthropic } from './protocols/anthropic.ts';
import { gemini } from './protocols/gemini.ts';
import { openaiChat } from './protocols/openaiChat.ts';
import { openaiResponses } from './protocols/openaiResponses.ts';
import type { ModelCall, ModelProtocol } from './protocols/protocol.ts';
import { paymentRequired, Refusal } from './refusal.ts';
import { describeTarget, type Target } from './target.ts';
import { type GatewayTimes, usualTimes } from './times.ts';
import { createUnderWay } from './underWay.ts';

interface Route {
  readonly name: Protocol;
  readonly protocol: ModelProtocol;
}

const routes: readonly Route[] = [
  { name: 'openai-chat', protocol: openaiChat },
  { name: 'openai-responses', protocol: openaiResponses },
  { name: 'anthropic', protocol: anthropic },
  { name: 'gemini', protocol: gemini },
];

type Shared = Pick<ExchangeParts, 'modelHosts' | 'models' | 'meter' | 'allowPrivate'>;

export interface GatewayOptions extends Target, Shared {
  /** What the user should know: a fault, a retry, a price that is guessed. */
  readonly onNotice: Notify;
  readonly bodies?: ExchangeParts['bodies'];
  /** Shorter ones, for tests. */
  readonly times?: Partial<GatewayTimes>;
  /** Smaller ones, for tests. */
  readonly bounds?: Partial<GatewayBounds>;
}

export interface Gateway {
  readonly handle: BridgeHandler;
  /** A message of the user: requests go to this model, and what was told before may be told again. */
  beginTurn(target: Target): void;
  /** Ends what is under way; it is counted when this settles, within a time. */
  close(): Promise<void>;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  const type = status === paymentRequired ? 'payment_required' : 'invalid_request_error';
  send(response, status, { type: 'error', error: { type, code: status, message } });
}

/** Undefined where it is no model request. */
function findCall({ method }: IncomingMessage, rest: string): (Route & { call: ModelCall }) | undefined {
  if (method !== 'POST') return undefined;
  for (const route of routes) {
    const base = protocolBases[route.name];
    const call = rest.startsWith(`${base}/`) ? route.protocol.match(rest.slice(base.length)) : undefined;
    if (call !== undefined) return { ...route, call };
  }
  return undefined;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { modelHosts, models, bodies = createBodies() } = options;
  const times = { ...usualTimes, ...options.times };
  const bounds = { ...usualBounds, ...options.bounds };
  const connections = createConnections(times);
  const notices = createNotices(options.onNotice);
  const exchange = createExchange({ ...options, bodies, times, bounds, connections, notices });
  const underWay = createUnderWay();
  let target: Target = options;

  async function handle(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    if (rest === currentModelPath && request.method === 'GET')
      return send(response, 200, describeTarget(target, modelHosts, models));
    const found = findCall(request, rest);
    if (found === undefined) return sendError(response, 404, 'The gateway takes model requests alone.');
    return underWay.run(response, async (signal) => {
      try {
        await exchange({ ...found, request, response, target, signal });
      } catch (error) {
        if (signal.aborted) return void response.destroy();
        if (!(error instanceof Refusal)) throw error;
        const { message, status, untold } = error;
        if (!untold) notices.tell(message, true);
        sendError(response, status, message);
      }
    });
  }

  return {
    handle,
    beginTurn: (next) => {
      target = next;
      notices.beginTurn();
    },
    close: async () => {
      await underWay.end();
      connections.close();
    },
  };
}
