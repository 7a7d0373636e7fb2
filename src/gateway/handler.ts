// The gateway sends the model requests of a run to the user's model with the user's API key, metered and limited.
// Errors that an agent cannot fix are answered with 402, which ends the turn in every agent that was tried; other
// statuses make them retry.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBodies } from '../bridge/bodies.ts';
import type { BridgeHandler } from '../bridge/bridge.ts';
import { type Protocol, protocolBases } from '../models/protocols.ts';
import { defaultBounds, type GatewayBounds } from './bounds.ts';
import { createConnections } from './connection.ts';
import { currentModelPath } from './currentModel.ts';
import { createExchange, type ExchangeDependencies } from './exchange.ts';
import { createNotices, type Notify } from './notices.ts';
import { createOpenExchanges } from './openExchanges.ts';
import { anthropic } from './protocols/anthropic.ts';
import { gemini } from './protocols/gemini.ts';
import { openaiChat } from './protocols/openaiChat.ts';
import { openaiResponses } from './protocols/openaiResponses.ts';
import type { ModelCall, ModelProtocol } from './protocols/protocol.ts';
import { paymentRequired, Refusal } from './refusal.ts';
import { describeTarget, type Target } from './target.ts';
import { defaultTimes, type GatewayTimes } from './times.ts';

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

type Shared = Pick<
  ExchangeDependencies,
  'modelHosts' | 'models' | 'meter' | 'budget' | 'allowPrivate' | 'observeCall'
>;

export interface GatewayOptions extends Target, Shared {
  /** Reports what the user should know: a fault, a retry, an estimated price. */
  readonly onNotice: Notify;
  /** Notices of earlier runs that need not be repeated. */
  readonly knownNotices?: readonly string[];
  readonly bodies?: ExchangeDependencies['bodies'];
  /** Shorter ones, for tests. */
  readonly times?: Partial<GatewayTimes>;
  /** Smaller ones, for tests. */
  readonly bounds?: Partial<GatewayBounds>;
}

export interface Gateway {
  readonly handle: BridgeHandler;
  /** Starts a turn: requests go to this model, and earlier notices may be repeated. */
  beginTurn(target: Target): void;
  /** Aborts open requests. They are metered when this settles, within a bounded time. */
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

/** Returns undefined if it is not a model request. */
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
  const times = { ...defaultTimes, ...options.times };
  const bounds = { ...defaultBounds, ...options.bounds };
  const connections = createConnections(times);
  const notices = createNotices(options.onNotice, options.knownNotices);
  const exchange = createExchange({ ...options, bodies, times, bounds, connections, notices });
  const openExchanges = createOpenExchanges();
  let target: Target = options;

  async function handle(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    if (rest === currentModelPath && request.method === 'GET')
      return send(response, 200, describeTarget(target, modelHosts, models));
    const found = findCall(request, rest);
    if (found === undefined) return sendError(response, 404, 'The gateway takes model requests alone.');
    return openExchanges.run(response, async (signal) => {
      try {
        await exchange({ ...found, request, response, target, signal });
      } catch (error) {
        if (signal.aborted) return void response.destroy();
        if (!(error instanceof Refusal)) throw error;
        const { message, status, silent } = error;
        if (!silent) notices.report(message, true);
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
      await openExchanges.end();
      connections.close();
    },
  };
}
