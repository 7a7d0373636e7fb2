// One request to the model: what it says is passed on as it comes, and what it wants done is returned.
import { setTimeout as pause } from 'node:timers/promises';
import { type FinishReason, jsonSchema, type ModelMessage, streamText, type ToolSet } from 'ai';
import type { Client } from './client.ts';
import { withImagesBehind } from './images.ts';
import { type Model, providerOptions, rememberUpToHere } from './model.ts';
import { isPassing, toStepError } from './modelErrors.ts';
import type { Tool } from './tools/tool.ts';

/** The gateway tries again what fails before an answer begins; here, answers that were broken off. */
const attemptsMax = 4;
const askAgainUsualMs = 1_000;

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

async function request(needs: StepNeeds, toolSet: ToolSet): Promise<Step> {
  const { system, client, signal } = needs;
  const { language, outputTokensMax, seesResults } = needs.model;
  const messages = seesResults ? needs.messages : withImagesBehind(needs.messages);
  const result = streamText({
    model: language,
    instructions: { role: 'system', content: system, providerOptions: rememberUpToHere },
    messages: withMark(messages),
    tools: toolSet,
    maxRetries: 0,
    abortSignal: signal,
    providerOptions,
    ...(outputTokensMax === undefined ? {} : { maxOutputTokens: outputTokensMax }),
    onError: () => {
      // It is in the stream, too.
    },
  });
  const calls: WantedCall[] = [];
  let finishReason: FinishReason = 'other';
  let tokens: number | undefined;
  for await (const part of result.stream) {
    if (part.type === 'text-delta')
      await client.tell({ sessionUpdate: 'agent_message_chunk', content: words(part.text) });
    else if (part.type === 'reasoning-delta')
      await client.tell({ sessionUpdate: 'agent_thought_chunk', content: words(part.text) });
    else if (part.type === 'tool-call' && part.invalid !== true)
      calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
    else if (part.type === 'finish-step') {
      finishReason = part.finishReason;
      tokens = part.usage.totalTokens;
    } else if (part.type === 'error') throw part.error;
  }
  signal.throwIfAborted();
  const said = (await result.responseMessages).filter(({ content }) => content.length > 0);
  return { messages: said, calls, finishReason, tokens };
}

/** Throws the signal's reason, or StepError. */
export async function takeStep(needs: StepNeeds): Promise<Step> {
  const toolSet = toToolSet(needs.tools);
  const { askAgainMs = askAgainUsualMs } = needs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await request(needs, toolSet);
    } catch (error) {
      if (needs.signal.aborted) throw needs.signal.reason;
      if (!isPassing(error) || attempt === attemptsMax) throw toStepError(error, attempt);
      const content = words('The answer of the model broke off. Asking again.');
      await needs.client.tell({ sessionUpdate: 'agent_thought_chunk', content });
      await pause(askAgainMs * 2 ** (attempt - 1), undefined, { signal: needs.signal });
    }
  }
}
