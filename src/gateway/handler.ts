// The gateway: the model requests of a run, with the user's key, to the user's model, counted and bounded. Whatever an
// agent cannot mend is answered with 402, which ends the turn of every agent that was tried; others make them retry.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Protocol, protocolBases } from '../modelProtocols.ts';
import type { Models } from '../models/catalogue.ts';
import { classifyAddress } from '../outgoing/addresses.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import type { AddressRule } from '../outgoing/resolve.ts';
import { type Bodies, createBodies } from '../runtime/bridge/bodies.ts';
import type { BridgeHandler } from '../runtime/bridge/bridge.ts';
import { mib } from '../schema.ts';
import { attempt, Refusal } from './attempts.ts';
import { createConnections } from './connection.ts';
import { type CurrentModel, currentModelPath } from './current.ts';
import type { Meter, ModelLimit } from './meter.ts';
import { type Passed, pass, readError } from './passing.ts';
import { findPrice, type Price } from './prices.ts';
import { anthropic } from './protocols/anthropic.ts';
import { gemini } from './protocols/gemini.ts';
import { openaiChat } from './protocols/openaiChat.ts';
import { openaiResponses } from './protocols/openaiResponses.ts';
import { isObject, type Json, type ModelCall, type ModelProtocol } from './protocols/protocol.ts';
import { findUpstream, type ModelHosts, nativeProtocol, plainModelName, type Upstream } from './providers.ts';
import { type GatewayTimes, usualTimes } from './times.ts';
import { createUsageReader } from './usageReader.ts';

const requestBytesMax = 32 * mib;
/** Ends the turn of every agent that was tried. */
const paymentRequired = 402;
const badGateway = 502;

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

const limitSentences: Readonly<Record<ModelLimit, string>> = {
  max_iterations: 'The number of model requests that the settings allow for a message is reached. Stop here.',
  max_budget: 'The budget that the settings allow for this conversation is used up. Stop here.',
};

/** What the user should know of an answer that did not come to its end. */
const endSentences: Readonly<Partial<Record<Passed, string>>> = {
  broken: 'The provider of the model broke off in the middle of an answer.',
  silent: 'The provider of the model fell silent in the middle of an answer.',
};

/** The model of the user's settings. */
export interface Target {
  readonly model: string | null;
  readonly baseUrl: string | null;
  readonly key: string | undefined;
}

export interface GatewayOptions extends Target {
  readonly modelHosts: ModelHosts;
  /** By which prices are known. */
  readonly models: Models;
  readonly meter: Meter;
  readonly allowPrivate: () => boolean | Promise<boolean>;
  /** What the user should know: a fault, a retry, a price that is guessed. Each sentence once in a row. */
  readonly onNotice: (sentence: string, isFault: boolean) => void;
  readonly bodies?: Bodies;
  /** Shorter ones, for tests. */
  readonly times?: Partial<GatewayTimes>;
}

export interface Gateway {
  readonly handle: BridgeHandler;
  /** With a message of the user: requests go to this model now, and what was told of the last one is told again. */
  aim(target: Target): void;
  close(): void;
}

function parseBody(body: Buffer): Json {
  try {
    const parsed: unknown = JSON.parse(body.toString());
    if (isObject(parsed)) return parsed;
  } catch {
    // As below.
  }
  throw new Refusal('The request is not a JSON object.');
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  const type = status === paymentRequired ? 'payment_required' : 'invalid_request_error';
  send(response, status, { type: 'error', error: { type, code: status, message } });
}

/** Whether the agent says that it is beside the work, such as for a title. It is not sent on. */
const isAside = ({ headers }: IncomingMessage) => headers['x-parley-aside'] === '1';

const isGood = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 200 && statusCode < 300;

/** What to answer with: a provider may send a number that is no status. */
const statusOf = ({ statusCode = 0 }: IncomingMessage) => (statusCode < 300 ? badGateway : statusCode);

function authorize({ authorization }: Upstream, key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  return authorization === 'bearer' ? { authorization: `Bearer ${key}` } : { [authorization]: key };
}

const requestHeaders = [
  'accept',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'user-agent',
] as const;

function headersOf(request: IncomingMessage, upstream: Upstream, key: string | undefined) {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  };
  for (const name of requestHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  return { ...headers, ...authorize(upstream, key) };
}

export function createGateway(options: GatewayOptions): Gateway {
  const { modelHosts, models, meter, allowPrivate } = options;
  const { bodies = createBodies() } = options;
  const times = { ...usualTimes, ...options.times };
  const connections = createConnections(times);
  const noted = new Set<string>();
  let target: Target = options;
  let lastNotice = '';

  function tell(sentence: string, isFault: boolean): void {
    if (sentence !== lastNotice) options.onNotice(sentence, isFault);
    lastNotice = sentence;
  }

  function getUpstream({ model, baseUrl, key }: Target, protocol: Protocol): Upstream {
    const found = findUpstream({ model, baseUrl, protocol, modelHosts });
    if ('fault' in found) throw new Refusal(found.fault);
    if (key === undefined && !found.upstream.keyless)
      throw new Refusal('No key for the model is set. Set llm_api_key in your settings.');
    return found.upstream;
  }

  function faultOf(protocol: Protocol): string | null {
    try {
      getUpstream(target, protocol);
      return null;
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  }

  function describe(): CurrentModel {
    const { model, baseUrl } = target;
    const protocol = nativeProtocol(model, baseUrl);
    const { context = null, max_output = null, images = null } = models.find(model ?? '') ?? {};
    return {
      name: plainModelName(model),
      protocol,
      base: protocolBases[protocol],
      fault: faultOf(protocol),
      context,
      max_output,
      images,
    };
  }

  async function ruleFor({ namedByOperator }: Upstream): Promise<AddressRule> {
    return { private: namedByOperator || (await allowPrivate()) };
  }

  /** A server of the user's own, which nobody bills. */
  function isFree({ custom }: Upstream, { socket }: IncomingMessage): boolean {
    return custom && classifyAddress(socket.remoteAddress ?? '') === 'private';
  }

  function priceOf(upstream: Upstream, answer: IncomingMessage): Price {
    const price = findPrice(models, upstream.name, isFree(upstream, answer));
    if (price.note !== undefined && !noted.has(price.note)) options.onNotice(price.note, false);
    if (price.note !== undefined) noted.add(price.note);
    return price;
  }

  /** The words of a provider may quote the key. */
  async function refuse(answer: IncomingMessage, response: ServerResponse, { key }: Target): Promise<void> {
    const statusCode = statusOf(answer);
    const said = await readError(answer, times);
    const words = key === undefined ? said : said.replaceAll(key, '…');
    if (statusCode === 401 || statusCode === 403)
      throw new Refusal(`The provider of the model refuses the key in your settings (${statusCode}).`);
    tell(`The provider of the model refuses a request (${statusCode}).`, true);
    response
      .writeHead(statusCode, { 'content-type': answer.headers['content-type'] ?? 'text/plain' })
      .end(words);
  }

  async function exchange(
    { name, protocol }: Route,
    call: ModelCall,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const aimed = target;
    const upstream = getUpstream(aimed, name);
    const raw = await bodies.read(request, response, requestBytesMax);
    if ('status' in raw) return sendError(response, raw.status, raw.sentence);
    const sent = parseBody(raw);
    const counts = call.kind === 'answer';
    const limit = counts ? meter.admit({ aside: isAside(request) }) : undefined;
    if (limit !== undefined) return sendError(response, paymentRequired, limitSentences[limit]);
    const { suffix, body } = protocol.prepare(call, sent, upstream.model);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const message = {
      url: new URL(upstream.base + suffix),
      headers: headersOf(request, upstream, aimed.key),
      body: Buffer.from(JSON.stringify(body)),
      rule: await ruleFor(upstream),
      signal: gone.signal,
    };
    const answer = await attempt({
      send: () => connections.send(message),
      signal: gone.signal,
      times,
      onRetry: (sentence) => tell(sentence, false),
    });
    if (!isGood(answer)) return refuse(answer, response, aimed);
    const price = priceOf(upstream, answer);
    const isStream = /event-stream/.test(answer.headers['content-type'] ?? '');
    const reader = createUsageReader({ protocol, isStream, requestBytes: raw.length });
    const passed = await pass(answer, response, reader.push, times);
    if (counts) meter.record(reader.end(passed === 'whole'), price);
    const sentence = endSentences[passed];
    if (sentence !== undefined) tell(sentence, true);
    if (passed === 'whole') lastNotice = '';
  }

  async function handle(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    if (rest === currentModelPath && request.method === 'GET') return send(response, 200, describe());
    try {
      for (const route of routes) {
        const base = protocolBases[route.name];
        const path = rest.startsWith(`${base}/`) ? rest.slice(base.length) : undefined;
        const call = path === undefined || request.method !== 'POST' ? undefined : route.protocol.match(path);
        if (call !== undefined) return await exchange(route, call, request, response);
      }
      sendError(response, 404, 'The gateway takes model requests alone.');
    } catch (error) {
      if (response.closed) return;
      if (!(error instanceof Refusal || error instanceof OutgoingError)) throw error;
      const sentence =
        error instanceof OutgoingError
          ? `The provider of the model cannot be reached: ${error.message}`
          : error.message;
      tell(sentence, true);
      sendError(response, paymentRequired, sentence);
    }
  }

  return {
    handle,
    aim: (next) => {
      target = next;
      lastNotice = '';
    },
    close: connections.close,
  };
}
