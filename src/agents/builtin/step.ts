// One model request: its text is streamed to the client, and its tool calls are returned.
import { setTimeout as pause } from 'node:timers/promises';
import { type FinishReason, jsonSchema, type ModelMessage, streamText, type ToolSet } from 'ai';
import { createCallIds } from './callIds.ts';
import type { AcpClient } from './client.ts';
import { fitFor, tokensOfAll } from './history.ts';
import { cacheUpToHere, type Model, sessionOptions } from './model.ts';
import { isTemporary, toStepError } from './modelErrors.ts';
import type { Tool } from './tools/tool.ts';

/** Attempts for broken responses. The gateway retries requests that fail before a response begins. */
const attemptsMax = 4;
const retryDefaultMs = 1_000;
const outputTokensMin = 4_096;
/** The usable share of the context window, because token estimates are inexact. */
const spareShare = 0.95;
/** Finish reasons of incomplete responses. */
const broken: readonly FinishReason[] = ['error', 'interrupted'];

export interface StepNeeds {
  readonly sessionId: string;
  readonly model: Model;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly Tool[];
  readonly client: Pick<AcpClient, 'send'>;
  readonly signal: AbortSignal;
  /** The delay before the second attempt. It doubles before each further one. */
  readonly retryMs?: number | undefined;
}

export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Step {
  /** The messages of the model, with results of the calls that could not be parsed. */
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly RequestedCall[];
  readonly finishReason: FinishReason;
  /** The token count of the whole conversation; undefined if the provider does not report it. */
  readonly tokens: number | undefined;
}

/** Whether the step has only invalid tool calls. The model has received the reason. */
export function isMisunderstood({ messages, calls, finishReason }: Step): boolean {
  return calls.length === 0 && finishReason !== 'length' && messages.some(({ role }) => role === 'tool');
}

function toToolSet(tools: readonly Tool[]): ToolSet {
  // The tools have no `execute`, because this program decides when a call is executed.
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [name, { description, inputSchema: jsonSchema(input) }]),
  );
}

/**
 * Marks the last message, so that the next request finds everything up to it in the cache. The last message of the
 * previous request is marked again, because a provider searches only a few parts before each mark.
 */
function withMarks(messages: readonly ModelMessage[]): ModelMessage[] {
  const marked = [...messages];
  const answer = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const at of [answer - 1, messages.length - 1]) {
    const message = messages[at];
    if (message !== undefined) marked[at] = { ...message, providerOptions: cacheUpToHere };
  }
  return marked;
}

const words = (text: string) => ({ type: 'text', text }) as const;

/** The turn was stopped in the middle of a response. `said` is the text that the user has read. */
export class StepStopped extends Error {
  readonly said: string;

  constructor(said: string) {
    super('stopped');
    this.said = said;
  }
}

/** Limits the length of the response to what is left of the context window. */
function outputTokensFor({ model: { outputTokensMax, contextTokens }, messages }: StepNeeds) {
  if (outputTokensMax === undefined) return {};
  const left = contextTokens * spareShare - tokensOfAll(messages);
  return { maxOutputTokens: Math.max(outputTokensMin, Math.min(outputTokensMax, Math.floor(left))) };
}

async function request(needs: StepNeeds, toolSet: ToolSet): Promise<Step> {
  const { system, client, signal, model } = needs;
  const result = streamText({
    model: model.language,
    instructions: { role: 'system', content: system, providerOptions: cacheUpToHere },
    messages: withMarks(fitFor(needs.messages, model)),
    tools: toolSet,
    maxRetries: 0,
    abortSignal: signal,
    providerOptions: sessionOptions(needs.sessionId),
    ...outputTokensFor(needs),
    onError: () => {
      // The error is in the stream, too.
    },
  });
  const { idOf, renamed } = createCallIds();
  const calls: RequestedCall[] = [];
  let said = '';
  let finishReason: FinishReason = 'other';
  let tokens: number | undefined;
  for await (const part of result.stream) {
    if (part.type === 'text-delta') {
      said += part.text;
      await client.send({ sessionUpdate: 'agent_message_chunk', content: words(part.text) });
    } else if (part.type === 'reasoning-delta')
      await client.send({ sessionUpdate: 'agent_thought_chunk', content: words(part.text) });
    else if (part.type === 'tool-call' && part.invalid !== true)
      calls.push({ id: idOf(part.toolCallId), name: part.toolName, input: part.input });
    else if (part.type === 'finish-step') {
      finishReason = part.finishReason;
      tokens = part.usage.totalTokens;
    } else if (part.type === 'error' && !signal.aborted) throw part.error;
  }
  if (signal.aborted) throw new StepStopped(said);
  if (broken.includes(finishReason)) throw new Error('the response is incomplete');
  const messages = (await result.responseMessages).filter(({ content }) => content.length > 0);
  return { messages: messages.map(renamed), calls, finishReason, tokens };
}

/** Throws StepStopped or StepError. Any other error is a bug. */
export async function takeStep(needs: StepNeeds): Promise<Step> {
  const toolSet = toToolSet(needs.tools);
  const { retryMs = retryDefaultMs } = needs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await request(needs, toolSet);
    } catch (error) {
      if (needs.signal.aborted) throw error instanceof StepStopped ? error : new StepStopped('');
      if (!isTemporary(error) || attempt === attemptsMax) throw toStepError(error, attempt);
      const content = words('The response of the model was interrupted. Trying again.\n\n');
      await needs.client.send({ sessionUpdate: 'agent_thought_chunk', content });
      await pause(retryMs * 2 ** (attempt - 1), undefined, { signal: needs.signal }).catch(() => {
        throw new StepStopped('');
      });
    }
  }
}
