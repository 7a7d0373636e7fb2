// What the gateway must know of a model API: which requests are model requests, how the model is named in them, and
// where an answer says what it took.

export type Json = Readonly<Record<string, unknown>>;

/** Tokens. Those that came from a cache, or went into one, are not among `input`. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export const noTokens: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** A request as the agent sent it. */
export interface ModelCall {
  /** `count` asks how much a text is: it makes no answer, and costs nothing. */
  readonly kind: 'answer' | 'count';
  /** What follows the base of the API, with the query. */
  readonly suffix: string;
}

export interface ModelProtocol {
  /** `path` is what follows the base of the API, with the query. Undefined: no model request. */
  match(path: string): ModelCall | undefined;
  /** The same request for the model of the user. */
  prepare(call: ModelCall, body: Json, model: string): { readonly suffix: string; readonly body: Json };
  /** What a part of a stream, or a whole answer, tells of the tokens so far. */
  read(part: Json, before: Tokens): Tokens;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tokens of one kind in one answer: many times what any model takes or gives. */
export const answerTokensMax = 100_000_000;

/** A count of tokens as a provider says it; 0 for whatever is none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(Math.round(value), answerTokensMax) : 0;
}
