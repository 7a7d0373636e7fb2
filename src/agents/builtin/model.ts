// The current model as an object of the AI SDK. The libraries are large, so each is loaded when it is needed.
import type { LanguageModel } from 'ai';
import { CurrentModel, currentModelPath } from '../../gateway/currentModel.ts';
import type { Protocol } from '../../models/protocols.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { AgentConfig } from './config.ts';

export interface Model {
  readonly language: LanguageModel;
  readonly contextTokens: number;
  /** Undefined if the API does not require it. */
  readonly outputTokensMax: number | undefined;
  /** The key that marks reasoning of this provider; undefined if it has none. */
  readonly reasoningKey: string | undefined;
  /** True unless it is known that the model accepts no images. */
  readonly seesImages: boolean;
}

interface ModelEndpoint {
  readonly name: string;
  readonly base: string;
  readonly token: string;
}

const requestMs = 10_000;
/** Used if the context window is unknown. Nearly all models have at least this. */
const contextTokensDefault = 128_000;

/** The output limit for APIs that require one. It leaves room for the history. */
const outputTokensMost: Readonly<Partial<Record<Protocol, number>>> = { anthropic: 32_000 };
/** The providers whose reasoning a request may contain. */
const reasoningKeys: Readonly<Record<Protocol, string | undefined>> = {
  anthropic: 'anthropic',
  gemini: 'google',
  'openai-responses': 'openai',
  'openai-chat': undefined,
};

const loads: Readonly<Record<Protocol, (endpoint: ModelEndpoint) => Promise<LanguageModel>>> = {
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

/** Options of requests to providers. */
export const providerOptions = {
  // The provider must not store the conversation.
  openai: { store: false },
};

/**
 * Options of the requests of a session. They share a key that leads them to the same cache of the provider; with other
 * APIs, caches need no key.
 */
export function sessionOptions(sessionId: string) {
  return { openai: { ...providerOptions.openai, promptCacheKey: sessionId } };
}

/** Marks the end of the part that the provider may cache, so that it is cheaper in the next request. */
export const cacheUpToHere = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const;

async function readCurrentModel({ gateway, token }: AgentConfig, signal: AbortSignal): Promise<CurrentModel> {
  const response = await fetch(gateway + currentModelPath, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestMs)]),
  });
  const parsed: unknown = await response.json();
  if (compileCheck(CurrentModel)(parsed) !== undefined)
    throw new Error('The gateway did not return the current model.');
  return parsed as CurrentModel;
}

function capped(own: number | null, most: number | undefined): number | undefined {
  return most === undefined ? undefined : Math.min(own ?? most, most);
}

/** Returns the current model of the user, or a sentence that explains why there is none. */
export async function findModel(
  config: AgentConfig,
  signal: AbortSignal,
): Promise<Model | { readonly fault: string }> {
  const { name, protocol, base, fault, context, max_output, images } = await readCurrentModel(config, signal);
  if (fault !== null) return { fault };
  return {
    language: await loads[protocol]({ name, base: config.gateway + base, token: config.token }),
    contextTokens: context ?? contextTokensDefault,
    outputTokensMax: capped(max_output, outputTokensMost[protocol]),
    reasoningKey: reasoningKeys[protocol],
    seesImages: images ?? true,
  };
}
