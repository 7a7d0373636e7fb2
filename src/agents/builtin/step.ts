// One request to the model: what it says is passed on as it comes, and what it wants done is returned.
import { setTimeout as pause } from 'node:timers/promises';
import { type FinishReason, jsonSchema, type ModelMessage, streamText, type ToolSet } from 'ai';
import { createCallIds } from './callIds.ts';
import type { Client } from './client.ts';
import { fitFor, tokensOfAll } from './history.ts';
import { type Model, providerOptions, rememberUpToHere } from './model.ts';
import { isPassing, toStepError } from './modelErrors.ts';
import type { Tool } from './tools/tool.ts';

/** The gateway tries again what fails before an answer begins; here, answers that were broken off. */
const attemptsMax = 4;
const askAgainUsualMs = 1_000;
const outputTokensMin = 4_096;
/** Of what the model can take in: guesses are not exact. */
const spareShare = 0.95;
/** Ends of answers that did not come to theirs. */
const broken: readonly FinishReason[] = ['error', 'interrupted'];

export interface StepNeeds {
  readonly model: Model;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly Tool[];
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Before the second attempt; longer before each further one. */
  readonly askAgainMs?: number | undefined;
}

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface Step {
  /** What it said and wants; with results of the calls that could not be understood. */
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly WantedCall[];
  readonly finishReason: FinishReason;
  /** Of the whole conversation, as the provider counts them; undefined where it does not. */
  readonly tokens: number | undefined;
}

function toToolSet(tools: readonly Tool[]): ToolSet {
  // Without a function to run: which call is run when is decided here.
  return Object.fromEntries(
    tools.map(({ name, description, input }) => [name, { description, inputSchema: jsonSchema(input) }]),
  );
}

/** The last message is marked, so that the next request finds all before it remembered. */
function withMark(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, i) =>
    i === messages.length - 1 ? { ...message, providerOptions: rememberUpToHere } : message,
  );
}

const words = (text: string) => ({ type: 'text', text }) as const;

/** The turn was stopped in the middle of an answer, of which the user has read this much. */
export class StepStopped extends Error {
  readonly said: string;

  constructor(said: string) {
    super('stopped');
    this.said = said;
  }
}

/** So long an answer may be, with what was said before. */
function outputTokensFor({ model: { outputTokensMax, contextTokens }, messages }: StepNeeds) {
  if (outputTokensMax === undefined) return {};
  const left = contextTokens * spareShare - tokensOfAll(messages);
  return { maxOutputTokens: Math.max(outputTokensMin, Math.min(outputTokensMax, Math.floor(left))) };
}

async function request(needs: StepNeeds, toolSet: ToolSet): Promise<Step> {
  const { system, client, signal, model } = needs;
  const result = streamText({
    model: model.language,
    instructions: { role: 'system', content: system, providerOptions: rememberUpToHere },
    messages: withMark(fitFor(needs.messages, model)),
    tools: toolSet,
    maxRetries: 0,
    abortSignal: signal,
    providerOptions,
    ...outputTokensFor(needs),
    onError: () => {
      // It is in the stream, too.
    },
  });
  const { idOf, renamed } = createCallIds();
  const calls: WantedCall[] = [];
  let said = '';
  let finishReason: FinishReason = 'other';
  let tokens: number | undefined;
  for await (const part of result.stream) {
    if (part.type === 'text-delta') {
      said += part.text;
      await client.tell({ sessionUpdate: 'agent_message_chunk', content: words(part.text) });
    } else if (part.type === 'reasoning-delta')
      await client.tell({ sessionUpdate: 'agent_thought_chunk', content: words(part.text) });
    else if (part.type === 'tool-call' && part.invalid !== true)
      calls.push({ id: idOf(part.toolCallId), name: part.toolName, input: part.input });
    else if (part.type === 'finish-step') {
      finishReason = part.finishReason;
      tokens = part.usage.totalTokens;
    } else if (part.type === 'error' && !signal.aborted) throw part.error;
  }
  if (signal.aborted) throw new StepStopped(said);
  if (broken.includes(finishReason)) throw new Error('the answer has no end');
  const messages = (await result.responseMessages).filter(({ content }) => content.length > 0);
  return { messages: messages.map(renamed), calls, finishReason, tokens };
}

/** Throws StepStopped, StepError, or what is a bug. */
export async function takeStep(needs: StepNeeds): Promise<Step> {
  const toolSet = toToolSet(needs.tools);
  const { askAgainMs = askAgainUsualMs } = needs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await request(needs, toolSet);
    } catch (error) {
      if (needs.signal.aborted) throw error instanceof StepStopped ? error : new StepStopped('');
      if (!isPassing(error) || attempt === attemptsMax) throw toStepError(error, attempt);
      const content = words('The response of the model was interrupted. Trying again.');
      await needs.client.tell({ sessionUpdate: 'agent_thought_chunk', content });
      await pause(askAgainMs * 2 ** (attempt - 1), undefined, { signal: needs.signal }).catch(() => {
        throw new StepStopped('');
      });
    }
  }
}
