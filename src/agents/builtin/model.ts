// The model of the moment, as the libraries know it. They are large, and each is loaded when it is needed.
import type { LanguageModel } from 'ai';
import { CurrentModel, currentModelPath } from '../../gateway/currentModel.ts';
import type { Protocol } from '../../models/protocols.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { AgentConfig } from './config.ts';

export interface Model {
  readonly language: LanguageModel;
  readonly contextTokens: number;
  /** Undefined: it need not be said. */
  readonly outputTokensMax: number | undefined;
  /** Under which its reasoning is known again; undefined where that has no mark. */
  readonly reasoningKey: string | undefined;
  /** Unless it is known not to. */
  readonly seesImages: boolean;
}

interface Place {
  readonly name: string;
  readonly base: string;
  readonly token: string;
}

const askMs = 10_000;
/** Where a model's own is not known: what nearly all have. */
const contextTokensUsual = 128_000;

/** Where it must be said how long an answer may be: enough for one, and room is left for what was said before. */
const outputTokensMost: Readonly<Partial<Record<Protocol, number>>> = { anthropic: 32_000 };
/** Whose reasoning a request may hold: others would not know it. */
const reasoningKeys: Readonly<Record<Protocol, string | undefined>> = {
  anthropic: 'anthropic',
  gemini: 'google',
  'openai-responses': 'openai',
  'openai-chat': undefined,
};

const loads: Readonly<Record<Protocol, (place: Place) => Promise<LanguageModel>>> = {
  anthropic: async ({ name, base, token }) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ baseURL: `${base}/v1`, apiKey: token })(name);
  },
  gemini: async ({ name, base, token }) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
    return createGoogleGenerativeAI({ baseURL: `${base}/v1beta`, apiKey: token })(name);
  },
  'openai-responses': async ({ name, base, token }) => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return createOpenAI({ baseURL: base, apiKey: token }).responses(name);
  },
  'openai-chat': async ({ name, base, token }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return createOpenAICompatible({ name: 'parley', baseURL: base, apiKey: token, includeUsage: true })(name);
  },
};

/** What providers need beside the messages. */
export const providerOptions = {
  // Nothing of a conversation is kept there for later.
  openai: { store: false },
};

/** Marks where a provider may remember what came before, so that it is not charged in full again. */
export const rememberUpToHere = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const;

async function askForModel({ gateway, token }: AgentConfig, signal: AbortSignal): Promise<CurrentModel> {
  const response = await fetch(gateway + currentModelPath, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(askMs)]),
  });
  const told: unknown = await response.json();
  if (compileCheck(CurrentModel)(told) !== undefined)
    throw new Error('The gateway does not say which model there is.');
  return told as CurrentModel;
}

function capped(own: number | null, most: number | undefined): number | undefined {
  return most === undefined ? undefined : Math.min(own ?? most, most);
}

/** The user's model as it is now, or the sentence that says why there is none. */
export async function findModel(
  config: AgentConfig,
  signal: AbortSignal,
): Promise<Model | { readonly fault: string }> {
  const { name, protocol, base, fault, context, max_output, images } = await askForModel(config, signal);
  if (fault !== null) return { fault };
  return {
    language: await loads[protocol]({ name, base: config.gateway + base, token: config.token }),
    contextTokens: context ?? contextTokensUsual,
    outputTokensMax: capped(max_output, outputTokensMost[protocol]),
    reasoningKey: reasoningKeys[protocol],
    seesImages: images ?? true,
  };
}
