// One model request: the agent's words, with the user's key, to the user's model, and the answer back, counted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bodies } from '../bridge/bodies.ts';
import type { Models } from '../models/catalogue.ts';
import type { Protocol } from '../models/protocols.ts';
import type { ModelHosts, Upstream } from '../models/providers.ts';
import { classifyAddress } from '../outgoing/addresses.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { type AddressRule, portOf } from '../outgoing/resolve.ts';
import { mib } from '../validation/schema.ts';
import { crowdFault } from '../validation/tooManyValues.ts';
import { attempt } from './attempts.ts';
import type { GatewayBounds } from './bounds.ts';
import type { Connections, ModelRequest } from './connection.ts';
import { asideHeader } from './current.ts';
import { createGate } from './gate.ts';
import type { Notices } from './notices.ts';
import { createPace } from './pace.ts';
import { type Passed, pass, readError } from './passing.ts';
import {
  isObject,
  type Json,
  type ModelCall,
  type ModelProtocol,
  type Tokens,
} from './protocols/protocol.ts';
import { createRedaction } from './redaction.ts';
import { Refusal } from './refusal.ts';
import {
  addressHint,
  isElsewhere,
  isForUser,
  isJson,
  isPage,
  placeOf,
  refusalSentence,
  statusOf,
} from './refusing.ts';
import { headersOf } from './requestHeaders.ts';
import { getUpstream, type Target } from './target.ts';
import type { GatewayTimes } from './times.ts';
import type { Admission, Denial, Meter } from './usage/meter.ts';
import { findPrice, type Price } from './usage/prices.ts';
import { guessRequest } from './usage/requestGuess.ts';
import { createUsageReader, guessTokens } from './usage/usageReader.ts';

const requestBytesMax = 32 * mib;
/** Limits the number of values, because parsed objects take many times the memory of their text. */
const requestValuesMax = 200_000;

/** So often the cost of an answer is looked at while it comes. */
const costEveryBytes = mib;

const denials: Readonly<Record<Denial, string>> = {
  max_iterations: 'The number of model requests that the settings allow for a message is reached. Stop here.',
  max_budget: 'The budget that the settings allow for this conversation is used up. Stop here.',
  budget_held:
    'The requests to the model that are under way may use up what is left of the budget of this conversation.',
};

/** What the user should know of an answer that did not come to its end. */
const endSentences: Readonly<Partial<Record<Passed, string>>> = {
  broken: 'The provider of the model broke off in the middle of an answer.',
  silent: 'The provider of the model fell silent in the middle of an answer.',
  too_late: 'The provider of the model did not come to the end of an answer in time. It was cut off.',
  too_large: 'The provider of the model sent more than any answer should have. It was cut off.',
  too_dear: 'The budget that the settings allow was used up in the middle of an answer. It was cut off.',
};

export interface ExchangeParts {
  readonly modelHosts: ModelHosts;
  /** By which prices are known. */
  readonly models: Models;
  readonly meter: Meter;
  readonly notices: Notices;
  readonly bodies: Bodies;
  readonly times: GatewayTimes;
  readonly bounds: GatewayBounds;
  readonly connections: Connections;
  readonly allowPrivate: AllowPrivate;
}

/** A request of an agent, and who is asked. */
export interface Asked {
  readonly name: Protocol;
  readonly protocol: ModelProtocol;
  readonly call: ModelCall;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  /** Aborted where nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

interface Asking {
  readonly upstream: Upstream;
  readonly requestBytes: number;
  readonly admission: Admission | undefined;
}

export type Exchange = (asked: Asked) => Promise<void>;

function parseBody(body: Buffer): Json {
  const fault = crowdFault(body, requestValuesMax);
  if (fault !== undefined) throw new Refusal(`The request ${fault}.`, { status: 400 });
  try {
    const parsed: unknown = JSON.parse(body.toString());
    if (isObject(parsed)) return parsed;
  } catch {
    // As below.
  }
  throw new Refusal('The request is not a JSON object.');
}

/** Whether the agent says that it is beside the work, such as for a title. It is not sent on. */
const isAside = ({ headers }: IncomingMessage) => headers[asideHeader] === '1';

const isGood = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 200 && statusCode < 300;

function notAModel(answer: IncomingMessage, upstream: Upstream): Refusal {
  answer.destroy();
  return new Refusal(
    `The provider of the model answers with a page for people, not with one of a model.${addressHint(upstream)}`,
  );
}

/** Settles when all of it is counted. Rejects with Refusal where the agent has no answer yet. */
export function createExchange(parts: ExchangeParts): Exchange {
  const { modelHosts, models, meter, notices, bodies, times, bounds, connections, allowPrivate } = parts;
  const gate = createGate(bounds);
  const pace = createPace(bounds);

  async function ruleFor({ namedByOperator, base }: Upstream): Promise<AddressRule> {
    return { private: namedByOperator || (await allowPrivate()), port: portOf(new URL(base)) };
  }

  /** What an answer of the user's own address cost last: before the first nobody knows whether it is free. */
  let custom: { readonly base: string; readonly price: Price } | undefined;

  /** A server of the user's own at a private address is billed by nobody. */
  function priceAt(upstream: Upstream, address: string | undefined): Price {
    const isFree = upstream.custom && classifyAddress(address ?? '') === 'private';
    const price = findPrice(models, upstream.name, isFree);
    if (price.note !== undefined) notices.tellOnce(price.note);
    if (upstream.custom) custom = { base: upstream.base, price };
    return price;
  }

  function guessCost(upstream: Upstream, tokens: Tokens): number {
    if (!upstream.custom) return findPrice(models, upstream.name, false).costOf(tokens);
    return custom?.base === upstream.base ? custom.price.costOf(tokens) : 0;
  }

  async function readBody({ request, response }: Asked): Promise<Buffer> {
    const raw = await bodies.read(request, response, requestBytesMax);
    if ('status' in raw) throw new Refusal(raw.sentence, { status: raw.status, untold: true });
    return raw;
  }

  /** Undefined where it is free. Throws Refusal. */
  function admit({ call, request }: Asked, upstream: Upstream, taken: Tokens): Admission | undefined {
    if (call.kind !== 'answer') return undefined;
    const costNanos = guessCost(upstream, taken);
    const admitted = meter.admit({ aside: isAside(request), costNanos });
    if (typeof admitted !== 'string') return admitted;
    throw new Refusal(denials[admitted], { untold: admitted !== 'budget_held' });
  }

  /**
   * The head of the answer. One that has the whole request may bill it, whether somebody waits for its answer or not.
   */
  async function send(message: ModelRequest, onLeft: (address: string) => void): Promise<IncomingMessage> {
    const { signal } = message;
    let unanswered: string | undefined;
    const sendOnce = async () => {
      unanswered = undefined;
      const answer = await connections.send({ ...message, onSent: (address) => (unanswered = address) });
      unanswered = undefined;
      return answer;
    };
    try {
      const onRetry = (sentence: string) => notices.tell(sentence, false);
      return await attempt({ send: sendOnce, place: placeOf(message.url), signal, times, onRetry });
    } catch (error) {
      if (signal.aborted && unanswered !== undefined) onLeft(unanswered);
      throw error;
    }
  }

  async function refuse(answer: IncomingMessage, asked: Asked, upstream: Upstream): Promise<void> {
    const status = statusOf(answer);
    const redaction = createRedaction(asked.target.key, 'error');
    const said = await readError({ answer, redaction, times });
    const sentence = refusalSentence(status, said, upstream);
    const isLost = upstream.custom && isElsewhere(status) && !isJson(answer);
    if (isForUser(status) || isLost) throw new Refusal(sentence);
    notices.tell(sentence, true);
    asked.response
      .writeHead(status, { 'content-type': isJson(answer) ? 'application/json' : 'text/plain' })
      .end(said);
  }

  /** The answer on its way to the agent, counted. */
  async function passOn(answer: IncomingMessage, asked: Asked, asking: Asking): Promise<void> {
    const { protocol, response, target, signal } = asked;
    const { upstream, requestBytes, admission } = asking;
    const price = priceAt(upstream, answer.socket.remoteAddress);
    const isStream = /event-stream/.test(answer.headers['content-type'] ?? '');
    const reader = createUsageReader({ protocol, isStream, requestBytes });
    let unseen = 0;
    function count(piece: Buffer): boolean {
      reader.push(piece);
      unseen += piece.length;
      if (unseen < costEveryBytes) return true;
      unseen = 0;
      return !admission?.isTooMuch(price.costOf(reader.guess()));
    }
    const redaction = createRedaction(target.key, 'answer');
    const passed = await pass({ ...parts, answer, response, isStream, count, redaction, pace });
    admission?.record(reader.end(passed === 'whole'), price);
    const sentence = endSentences[passed];
    if (sentence !== undefined && !signal.aborted) notices.tell(sentence, true);
  }

  async function ask(asked: Asked, upstream: Upstream, raw: Buffer): Promise<void> {
    const { protocol, call, request, target, signal } = asked;
    const { suffix, body } = protocol.prepare(call, parseBody(raw), upstream.model);
    const requestBytes = raw.length;
    const admission = admit(asked, upstream, guessRequest(requestBytes, body));
    try {
      const message = {
        url: new URL(upstream.base + suffix),
        headers: headersOf(request, upstream, target.key),
        body: Buffer.from(JSON.stringify(body)),
        rule: await ruleFor(upstream),
        signal,
      };
      const answer = await send(message, (address) =>
        admission?.record(guessTokens(requestBytes), priceAt(upstream, address)),
      );
      if (!isGood(answer)) return await refuse(answer, asked, upstream);
      if (isPage(answer)) throw notAModel(answer, upstream);
      await passOn(answer, asked, { upstream, requestBytes, admission });
    } finally {
      admission?.settle();
    }
  }

  return async (asked) => {
    const upstream = getUpstream(asked.target, asked.name, modelHosts);
    const raw = await readBody(asked);
    await gate.pass(asked.signal, () => ask(asked, upstream, raw));
  };
}
