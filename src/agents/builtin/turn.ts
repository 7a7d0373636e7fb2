// One turn: model requests and their tool calls, until the model requests no more calls.
import type { StopReason } from '@agentclientprotocol/sdk';
import type { ModelMessage } from 'ai';
import type { AcpClient } from './client.ts';
import { asNotes, type Condenser } from './condense.ts';
import type { AgentConfig } from './config.ts';
import { hasImages, withoutImages } from './history.ts';
import type { Journal } from './journal.ts';
import type { Model } from './model.ts';
import { StepError } from './modelErrors.ts';
import { isMisunderstood, type Step, StepStopped, takeStep } from './step.ts';
import { createToolCalls } from './toolCalls.ts';
import type { Tool, ToolImage } from './tools/tool.ts';
import { imagePart } from './userMessage.ts';

export interface TurnNeeds {
  readonly sessionId: string;
  readonly config: AgentConfig;
  readonly model: Model;
  readonly system: string;
  readonly cwd: string;
  readonly journal: Journal;
  readonly tools: readonly Tool[];
  readonly client: AcpClient;
  readonly signal: AbortSignal;
  readonly allowed: Set<string>;
  readonly condenser: Condenser;
  readonly retryMs?: number | undefined;
}

/** A model that needs more steps is in a loop. */
const stepsMax = 1_000;

const stopReasons: Readonly<Partial<Record<Step['finishReason'], StopReason>>> = {
  length: 'max_tokens',
  'content-filter': 'refusal',
};

/** After this many consecutive responses with invalid tool calls, the model is in a loop. */
const misunderstoodMax = 8;

/** Retries without images. Returns undefined if there are none, or they are not the reason for the refusal. */
async function stepWithoutImages(needs: TurnNeeds): Promise<Step | undefined> {
  const { journal, client } = needs;
  if (!hasImages(journal.messages)) return undefined;
  const messages = withoutImages(journal.messages);
  const step = await takeStep({ ...needs, messages }).catch((error: unknown) => {
    if (error instanceof StepError && error.isRefused) return undefined;
    throw error;
  });
  if (step === undefined) return undefined;
  journal.replace(messages);
  const text = 'The model does not accept these images. I continue without them.';
  await client.send({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  return step;
}

async function nextStep(needs: TurnNeeds): Promise<Step> {
  const { config, condenser, journal } = needs;
  const request = () => takeStep({ ...needs, messages: journal.messages });
  try {
    return await request();
  } catch (error) {
    if (error instanceof StepStopped) throw error;
    if (!(error instanceof StepError)) {
      // Anything may have written to the home. A history that cannot be sent is converted to text.
      journal.replace(asNotes(journal.messages));
      return request();
    }
    if (error.isTooLong && config.condenses && (await condenser.condense(needs))) return request();
    const step = error.isRefused ? await stepWithoutImages(needs) : undefined;
    if (step === undefined) throw error;
    return step;
  }
}

/** Images of tools come after their results, because all APIs accept images there. */
function shownImages(images: readonly ToolImage[], { seesImages }: Model): ModelMessage {
  if (!seesImages) return { role: 'user', content: '[Your tools gave images, which you cannot see.]' };
  const parts = images.map(({ data, mimeType }) => imagePart(data, mimeType));
  return { role: 'user', content: [{ type: 'text', text: 'The images that your tools gave:' }, ...parts] };
}

async function report({ client, model }: TurnNeeds, { messages, tokens }: Step): Promise<void> {
  if (tokens !== undefined)
    await client.send({ sessionUpdate: 'usage_update', used: tokens, size: model.contextTokens });
  const content = { type: 'text', text: 'The model ended its answer without a word.' } as const;
  if (messages.length === 0) await client.send({ sessionUpdate: 'agent_thought_chunk', content });
}

async function work(needs: TurnNeeds): Promise<StopReason> {
  const { config, journal, signal, condenser } = needs;
  const doCalls = createToolCalls(needs);
  if (config.condenses) await condenser.condenseIfLong(needs, undefined);
  let misunderstood = 0;
  for (let steps = 0; steps < stepsMax && misunderstood < misunderstoodMax; steps++) {
    const step = await nextStep(needs);
    for (const message of step.messages) journal.addMessage(message);
    await report(needs, step);
    const images = await doCalls(step.calls);
    if (images.length > 0) journal.addMessage(shownImages(images, needs.model));
    signal.throwIfAborted();
    const isOdd = isMisunderstood(step);
    if (step.calls.length === 0 && !isOdd) return stopReasons[step.finishReason] ?? 'end_turn';
    misunderstood = isOdd ? misunderstood + 1 : 0;
    if (config.condenses) await condenser.condenseIfLong(needs, step.tokens);
  }
  return 'max_turn_requests';
}

/** Rejects if a model request fails and the user has not been told why. */
export async function takeTurn(
  needs: TurnNeeds,
  said: ModelMessage,
  turnNumber?: number,
): Promise<StopReason> {
  const { journal, signal } = needs;
  journal.settle();
  journal.addMessage(said, turnNumber);
  try {
    return await work(needs);
  } catch (error) {
    // The user has read this text and may refer to it.
    if (error instanceof StepStopped && error.said !== '')
      journal.addMessage({ role: 'assistant', content: `${error.said}\n[The user stopped you here.]` });
    if (signal.aborted) return 'cancelled';
    if (error instanceof StepError && error.isKnown) return 'end_turn';
    throw error;
  }
}
