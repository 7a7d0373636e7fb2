// One model request: it goes to the user's model with the user's API key, and the answer is metered on its way back.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bodies } from '../bridge/bodies.ts';
import type { Models } from '../models/catalogue.ts';
import type { Protocol } from '../models/protocols.ts';
import type { ModelHosts, Upstream } from '../models/providers.ts';
import { classifyAddress } from '../outgoing/addresses.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { type AddressRule, portOf } from '../outgoing/resolve.ts';
import { isObject, type JsonObject } from '../text/foreignText.ts';
import { kib, mib } from '../validation/schema.ts';
import { findTooManyValues } from '../validation/tooManyValues.ts';
import { sendWithRetries } from './attempts.ts';
import type { GatewayBounds } from './bounds.ts';
import type { Connections, ModelRequest } from './connection.ts';
import { sideRequestHeader } from './currentModel.ts';
import { type CostOverrun, type ForwardOutcome, forwardAnswer, readError } from './forwardAnswer.ts';
import { createGate } from './gate.ts';
import {
  failureOfStatus,
  type ModelCallResult,
  type ModelFailure,
  type ObserveModelCall,
} from './modelCalls.ts';
import type { Notices } from './notices.ts';
import type { ModelCall, ModelProtocol, Tokens } from './protocols/protocol.ts';
import {
  answerStatusOf,
  baseUrlHint,
  hostAndPort,
  isJson,
  isWebPage,
  needsUser,
  refusalSentence,
  suggestsWrongUrl,
} from './providerErrors.ts';
import { createReadRateLimit } from './readRateLimit.ts';
import { createRedaction } from './redaction.ts';
import { Refusal } from './refusal.ts';
import { headersOf } from './requestHeaders.ts';
import { getUpstream, type Target } from './target.ts';
import type { GatewayTimes } from './times.ts';
import type { Admission, Denial, Meter } from './usage/meter.ts';
import { findPrice, type Price } from './usage/prices.ts';
import { estimateRequest } from './usage/requestEstimate.ts';
import { createUsageReader, estimateTokens } from './usage/usageReader.ts';
import type { BudgetReservation, UserBudget } from './usage/userBudget.ts';

const requestBytesMax = 32 * mib;
/** Limits the number of values, because parsed objects take many times the memory of their text. */
const requestValuesMax = 200_000;

/** How often the cost of an answer is checked while it arrives. It is as long as the estimate of an answer at most. */
const costEveryBytes = 16 * kib;

const denials: Readonly<Record<Denial, string>> = {
  max_iterations: 'The maximum number of model requests per message is reached. Stop here.',
  max_budget: 'The maximum cost of this conversation is reached. Stop here.',
  budget_held: 'The model requests in progress may exceed the maximum cost of this conversation.',
};

/** What the user is told about an answer that was not complete. */
const endSentences: Readonly<Partial<Record<ForwardOutcome, string>>> = {
  broken: 'The model provider interrupted its response.',
  silent: 'The model provider stopped sending its response.',
  too_late: 'The model provider did not finish its response in time. It was cut off.',
  too_large: 'The model provider sent a response that is too large. It was cut off.',
  too_dear: 'The maximum cost was reached in the middle of a response. It was cut off.',
  over_budget: 'Your budget for models was used up in the middle of a response. It was cut off.',
};

/** Answers that were not complete because of the provider. */
const endFailures: Readonly<Partial<Record<ForwardOutcome, ModelFailure>>> = {
  broken: 'interrupted',
  silent: 'timeout',
  too_late: 'timeout',
  too_large: 'too_large',
};

export interface ExchangeDependencies {
  readonly modelHosts: ModelHosts;
  /** The source of prices. */
  readonly models: Models;
  readonly meter: Meter;
  /** The budget of the user; undefined if there is none. */
  readonly budget?: UserBudget | undefined;
  readonly notices: Notices;
  readonly bodies: Bodies;
  readonly times: GatewayTimes;
  readonly bounds: GatewayBounds;
  readonly connections: Connections;
  readonly allowPrivate: AllowPrivate;
  readonly observeCall?: ObserveModelCall | undefined;
}

/** A request of an agent, and the model that it goes to. */
export interface AgentRequest {
  readonly name: Protocol;
  readonly protocol: ModelProtocol;
  readonly call: ModelCall;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  /** Aborted if nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

interface AdmittedRequest {
  readonly upstream: Upstream;
  readonly requestBytes: number;
  readonly admission: AnswerAdmission | undefined;
}

/** Both the conversation and its user have admitted the request. */
interface AnswerAdmission extends Pick<Admission, 'record' | 'settle'> {
  /** Why an answer of this cost must be cut off, if it must. */
  findOverrun(costNanos: number): CostOverrun | undefined | Promise<CostOverrun | undefined>;
}

export type Exchange = (agentRequest: AgentRequest) => Promise<void>;

function parseBody(body: Buffer): JsonObject {
  const fault = findTooManyValues(body, requestValuesMax);
  if (fault !== undefined) throw new Refusal(`The request ${fault}.`, { status: 400 });
  try {
    const parsed: unknown = JSON.parse(body.toString());
    if (isObject(parsed)) return parsed;
  } catch {
    // Falls through to the refusal below.
  }
  throw new Refusal('The request is not a JSON object.');
}

/**
 * Returns the request for the provider. It is apart from what waits for the answer, so that nothing keeps the parsed
 * history in memory until then.
 */
function prepareBody({ protocol, call }: AgentRequest, raw: Buffer, model: string) {
  const { suffix, body } = protocol.prepare(call, parseBody(raw), model);
  return { suffix, body: Buffer.from(JSON.stringify(body)), estimate: estimateRequest(raw.length, body) };
}

/** The agent marks requests that are not part of its work, such as one for a title. The header is not forwarded. */
const isSideRequest = ({ headers }: IncomingMessage) => headers[sideRequestHeader] === '1';

function toAnswerAdmission(
  admission: Admission,
  reservation: BudgetReservation | undefined,
): AnswerAdmission {
  const overrunOf = (isCovered: boolean) => (isCovered ? undefined : 'over_budget');
  return {
    findOverrun: (costNanos) => {
      if (admission.isTooMuch(costNanos)) return 'too_dear';
      const covered = reservation?.covers(costNanos) ?? true;
      return typeof covered === 'boolean' ? overrunOf(covered) : covered.then(overrunOf);
    },
    record: admission.record,
    settle: () => {
      admission.settle();
      reservation?.release();
    },
  };
}

const isSuccess = ({ statusCode = 0 }: IncomingMessage) => statusCode >= 200 && statusCode < 300;

function notAModel(answer: IncomingMessage, upstream: Upstream): Refusal {
  answer.destroy();
  return new Refusal(
    `The model provider returned a web page instead of an API response.${baseUrlHint(upstream)}`,
    { failure: 'invalid' },
  );
}

/** Settles when the answer is metered. Rejects with Refusal if the agent has no answer yet. */
export function createExchange(parts: ExchangeDependencies): Exchange {
  const { modelHosts, models, meter, notices, bodies, times, bounds, connections, allowPrivate } = parts;
  const gate = createGate(bounds);
  const readRate = createReadRateLimit(bounds);

  async function ruleFor({ namedByOperator, base }: Upstream): Promise<AddressRule> {
    return { private: namedByOperator || (await allowPrivate()), port: portOf(new URL(base)) };
  }

  /** The last known price at the user's own base URL. Before the first answer nobody knows whether it is free. */
  let custom: { readonly base: string; readonly price: Price } | undefined;

  /** Nobody bills for the user's own server at a private address. */
  function priceAt(upstream: Upstream, address: string | undefined): Price {
    const isFree = upstream.custom && classifyAddress(address ?? '') === 'private';
    const price = findPrice(models, upstream.name, isFree);
    if (price.note !== undefined) notices.reportOnce(price.note);
    if (upstream.custom) custom = { base: upstream.base, price };
    return price;
  }

  function estimateCost(upstream: Upstream, tokens: Tokens): number {
    if (!upstream.custom) return findPrice(models, upstream.name, false).costOf(tokens);
    return custom?.base === upstream.base ? custom.price.costOf(tokens) : 0;
  }

  async function readBody({ request, response }: AgentRequest): Promise<Buffer> {
    const raw = await bodies.read(request, response, requestBytesMax);
    if ('status' in raw) throw new Refusal(raw.sentence, { status: raw.status, silent: true });
    return raw;
  }

  /** Returns undefined if the request is free. Rejects with Refusal. */
  async function admit(
    { call, request }: AgentRequest,
    upstream: Upstream,
    taken: Tokens,
  ): Promise<AnswerAdmission | undefined> {
    if (call.kind !== 'answer') return undefined;
    const costNanos = estimateCost(upstream, taken);
    const reservation = await parts.budget?.reserve(costNanos);
    const admitted = meter.admit({ isSideRequest: isSideRequest(request), costNanos });
    if (typeof admitted !== 'string') return toAnswerAdmission(admitted, reservation);
    reservation?.release();
    throw new Refusal(denials[admitted], { silent: admitted !== 'budget_held' });
  }

  /**
   * Returns the head of the answer. A provider that has the whole request may bill it even if nobody waits any more.
   */
  async function send(
    message: ModelRequest,
    onLeft: (address: string) => void,
    onRepeat: () => void,
  ): Promise<IncomingMessage> {
    const { signal } = message;
    let unanswered: string | undefined;
    const sendOnce = async () => {
      unanswered = undefined;
      const answer = await connections.send({ ...message, onSent: (address) => (unanswered = address) });
      unanswered = undefined;
      return answer;
    };
    try {
      const onRetry = (sentence: string) => {
        notices.report(sentence, false);
        onRepeat();
      };
      return await sendWithRetries({
        send: sendOnce,
        host: hostAndPort(message.url),
        signal,
        times,
        onRetry,
      });
    } catch (error) {
      if (signal.aborted && unanswered !== undefined) onLeft(unanswered);
      throw error;
    }
  }

  async function forwardError(
    answer: IncomingMessage,
    agentRequest: AgentRequest,
    upstream: Upstream,
  ): Promise<void> {
    const status = answerStatusOf(answer);
    const redaction = createRedaction(agentRequest.target.key, 'error');
    const said = await readError({ answer, redaction, times });
    const sentence = refusalSentence(status, said, upstream);
    const isLost = upstream.custom && suggestsWrongUrl(status) && !isJson(answer);
    if (needsUser(status) || isLost) throw new Refusal(sentence);
    notices.report(sentence, true);
    agentRequest.response
      .writeHead(status, { 'content-type': isJson(answer) ? 'application/json' : 'text/plain' })
      .end(said);
  }

  /** Forwards the answer to the agent and meters it. */
  async function forward(
    answer: IncomingMessage,
    agentRequest: AgentRequest,
    admitted: AdmittedRequest,
  ): Promise<ModelCallResult> {
    const { protocol, response, target, signal } = agentRequest;
    const { upstream, requestBytes, admission } = admitted;
    const price = priceAt(upstream, answer.socket.remoteAddress);
    const isStream = /event-stream/.test(answer.headers['content-type'] ?? '');
    const reader = createUsageReader({ protocol, isStream, requestBytes });
    let unseen = 0;
    function count(piece: Buffer) {
      reader.push(piece);
      unseen += piece.length;
      if (unseen < costEveryBytes) return undefined;
      unseen = 0;
      return admission?.findOverrun(price.costOf(reader.estimate()));
    }
    const redaction = createRedaction(target.key, 'answer');
    const outcome = await forwardAnswer({
      ...parts,
      answer,
      response,
      isStream,
      count,
      redaction,
      readRate,
    });
    const tokens = reader.end(outcome === 'whole');
    admission?.record(tokens, price);
    if (signal.aborted) return { tokens };
    const sentence = endSentences[outcome];
    if (sentence !== undefined) notices.report(sentence, true);
    const failure = endFailures[outcome];
    return { tokens, ...(failure && { failure }) };
  }

  async function sendToModel(agentRequest: AgentRequest, upstream: Upstream, raw: Buffer): Promise<void> {
    const { request, target, signal } = agentRequest;
    const { suffix, body, estimate } = prepareBody(agentRequest, raw, upstream.model);
    const requestBytes = raw.length;
    const admission = await admit(agentRequest, upstream, estimate);
    const observed = agentRequest.call.kind === 'answer' ? parts.observeCall?.(upstream.name) : undefined;
    let result: ModelCallResult = {};
    try {
      const message = {
        url: new URL(upstream.base + suffix),
        headers: headersOf(request, upstream, target.key),
        body,
        rule: await ruleFor(upstream),
        signal,
      };
      const answer = await send(
        message,
        (address) => admission?.record(estimateTokens(requestBytes), priceAt(upstream, address)),
        () => observed?.onRetry(),
      );
      const { statusCode: status = 0 } = answer;
      result = { status };
      if (!isSuccess(answer)) {
        result = { status, failure: failureOfStatus(status) };
        return await forwardError(answer, agentRequest, upstream);
      }
      if (isWebPage(answer)) throw notAModel(answer, upstream);
      result = { status, ...(await forward(answer, agentRequest, { upstream, requestBytes, admission })) };
    } catch (error) {
      if (error instanceof Refusal && error.failure) result = { ...result, failure: error.failure };
      throw error;
    } finally {
      admission?.settle();
      observed?.end(result);
    }
  }

  return async (agentRequest) => {
    const upstream = getUpstream(agentRequest.target, agentRequest.name, modelHosts);
    const raw = await readBody(agentRequest);
    await gate.pass(agentRequest.signal, () => sendToModel(agentRequest, upstream, raw));
  };
}
