// What the gateway needs to know about a model API: which requests are model requests, where the model is named, and
// where an answer reports its usage.
import type { JsonObject } from '../../text/foreignText.ts';

/** Token counts. `input` excludes tokens that were read from or written to a cache. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export const noTokens: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** A request as the agent sent it. */
export interface ModelCall {
  /** `count` only counts the tokens of a text, which is free. */
  readonly kind: 'answer' | 'count';
  /** The path below the base URL of the API, with the query. */
  readonly suffix: string;
}

export interface ModelProtocol {
  /** `path` is the path below the base URL, with the query. Returns undefined if it is not a model request. */
  match(path: string): ModelCall | undefined;
  /** Rewrites the request for the user's model. */
  prepare(
    call: ModelCall,
    body: JsonObject,
    model: string,
  ): { readonly suffix: string; readonly body: JsonObject };
  /** Returns the tokens so far, after an event of a stream or a whole answer. */
  read(part: JsonObject, before: Tokens): Tokens;
}

/** A limit for one count in one answer, many times what any model uses. */
export const answerTokensMax = 100_000_000;

/** A token count of a provider; 0 if it is not a valid number. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(Math.round(value), answerTokensMax) : 0;
}
