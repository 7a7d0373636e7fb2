// One turn: the model is asked, what it wants is done, and so on until it wants nothing more.
import type { StopReason } from '@agentclientprotocol/sdk';
import type { ModelMessage } from 'ai';
import type { Client } from './client.ts';
import { condense, isTooLong } from './condense.ts';
import type { AgentConfig } from './config.ts';
import { withoutImages } from './images.ts';
import type { Journal } from './journal.ts';
import type { Model } from './model.ts';
import { StepError } from './modelErrors.ts';
import { type Step, takeStep } from './step.ts';
import { createToolCalls } from './toolCalls.ts';
import type { Tool } from './tools/tool.ts';

export interface TurnNeeds {
  readonly config: AgentConfig;
  readonly model: Model;
  readonly system: string;
  readonly cwd: string;
  readonly journal: Journal;
  readonly tools: readonly Tool[];
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly allowed: Set<string>;
  readonly askAgainMs?: number | undefined;
}

const stopReasons: Readonly<Partial<Record<Step['finishReason'], StopReason>>> = {
  length: 'max_tokens',
  'content-filter': 'refusal',
};

/** Answers in a row that want something done which is not to be understood: it is in a circle then. */
const misunderstoodMax = 8;

/** Undefined where there are no images, or they are not what is wrong. */
async function stepWithoutImages(needs: TurnNeeds): Promise<Step | undefined> {
  const { journal, client } = needs;
  const messages = withoutImages(journal.messages);
  if (messages === journal.messages) return undefined;
  const step = await takeStep({ ...needs, messages }).catch((error: unknown) => {
    if (error instanceof StepError && error.isRefused) return undefined;
    throw error;
  });
  if (step === undefined) return undefined;
  journal.dropImages();
  const content = {
    type: 'text',
    text: 'The model does not take these images. I go on without them.',
  } as const;
  await client.tell({ sessionUpdate: 'agent_thought_chunk', content });
  return step;
}

async function nextStep(needs: TurnNeeds): Promise<Step> {
  const { config, journal } = needs;
  const ask = () => takeStep({ ...needs, messages: journal.messages });
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    if (error.isTooLong && config.condenses && (await condense(needs))) return ask();
    const step = error.isRefused ? await stepWithoutImages(needs) : undefined;
    if (step === undefined) throw error;
    return step;
  }
}

/** Wants something done that could not be understood; the model has been told why. */
function isMisunderstood({ messages, calls, finishReason }: Step): boolean {
  return calls.length === 0 && finishReason !== 'length' && messages.some(({ role }) => role === 'tool');
}

async function tell({ client, model }: TurnNeeds, { messages, tokens }: Step): Promise<void> {
  if (tokens !== undefined)
    await client.tell({ sessionUpdate: 'usage_update', used: tokens, size: model.contextTokens });
  const content = { type: 'text', text: 'The model ended its answer without a word.' } as const;
  if (messages.length === 0) await client.tell({ sessionUpdate: 'agent_thought_chunk', content });
}

/** However many steps it takes: the gateway counts them. */
async function work(needs: TurnNeeds): Promise<StopReason> {
  const { config, journal, signal } = needs;
  const doCall = createToolCalls(needs);
  for (let misunderstood = 0; misunderstood < misunderstoodMax; ) {
    const step = await nextStep(needs);
    for (const message of step.messages) journal.addMessage(message);
    await tell(needs, step);
    for (const call of step.calls) await doCall(call);
    signal.throwIfAborted();
    const isOdd = isMisunderstood(step);
    if (step.calls.length === 0 && !isOdd) return stopReasons[step.finishReason] ?? 'end_turn';
    misunderstood = isOdd ? misunderstood + 1 : 0;
    if (config.condenses && isTooLong(step.tokens, needs)) await condense(needs);
  }
  return 'max_turn_requests';
}

/** Rejects with StepError where the model cannot be asked, and the user was not told why. */
export async function takeTurn(needs: TurnNeeds, said: ModelMessage): Promise<StopReason> {
  const { journal, signal } = needs;
  journal.addMessage(said);
  try {
    return await work(needs);
  } catch (error) {
    if (signal.aborted) return 'cancelled';
    if (error instanceof StepError && error.isKnown) return 'end_turn';
    throw error;
  }
}
