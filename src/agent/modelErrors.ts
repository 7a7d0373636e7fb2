// What may go wrong when a model is asked, and what becomes of it.
import { APICallError } from 'ai';

const statusOfLimit = 402;
const statusOfTooLong = 400;
const wordsMax = 500;

/**
 * The turn cannot go on. `isKnown`: the gateway has told the user why already. `isRefused`: what was sent is not to the
 * liking of the provider, and would not be the next time.
 */
export class StepError extends Error {
  readonly isKnown: boolean;
  readonly isTooLong: boolean;
  readonly isRefused: boolean;

  constructor(message: string, { isKnown = false, isTooLong = false, isRefused = false } = {}) {
    super(message);
    this.name = 'StepError';
    this.isKnown = isKnown;
    this.isTooLong = isTooLong;
    this.isRefused = isRefused;
  }
}

/** Providers have no common word for it. */
const tooLong =
  /context.{0,20}(length|window)|too (long|many tokens)|maximum.{0,20}tokens|exceeds.{0,40}tokens/i;

/** What a provider tells in the middle of a stream is any value. */
function messageOf(error: unknown): string {
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as { message?: unknown };
  return typeof message === 'string' ? message : typeof error === 'string' ? error : JSON.stringify(error);
}

/** The provider has said no; undefined where an answer had begun, or none came. */
function refusalOf(error: unknown): APICallError | undefined {
  const isRefusal = APICallError.isInstance(error) && (error.statusCode ?? 200) !== 200;
  return isRefusal ? error : undefined;
}

function isBug(error: unknown): boolean {
  return error instanceof TypeError && !/fetch failed|terminated|network/i.test(error.message);
}

/** The connection broke, or an answer could not be read to its end: another request may do better. */
export function isPassing(error: unknown): boolean {
  return refusalOf(error) === undefined && !isBug(error) && !tooLong.test(messageOf(error));
}

export function toStepError(error: unknown, attempts: number): Error {
  if (isBug(error)) return error as Error;
  const words = messageOf(error).slice(0, wordsMax);
  const refusal = refusalOf(error);
  if (refusal === undefined)
    return new StepError(`The model's answer could not be read, in ${attempts} attempts: ${words}`, {
      isTooLong: tooLong.test(words),
    });
  const { statusCode, responseBody = '' } = refusal;
  const isKnown = statusCode === statusOfLimit;
  const isTooLong = statusCode === statusOfTooLong && tooLong.test(`${words} ${responseBody}`);
  return new StepError(`The model refused the request (${statusCode}): ${words}`, {
    isKnown,
    isTooLong,
    isRefused: !isKnown && !isTooLong,
  });
}
