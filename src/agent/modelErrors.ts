// What may go wrong when a model is asked, and what becomes of it.
import { APICallError } from 'ai';

const statusOfLimit = 402;
const wordsMax = 500;

/** The turn cannot go on. `isKnown`: the gateway has told the user why already. */
export class StepError extends Error {
  readonly isKnown: boolean;
  readonly isTooLong: boolean;

  constructor(message: string, { isKnown = false, isTooLong = false } = {}) {
    super(message);
    this.name = 'StepError';
    this.isKnown = isKnown;
    this.isTooLong = isTooLong;
  }
}

/** Providers have no common word for it. */
const tooLong =
  /context.{0,20}(length|window)|too (long|many tokens)|maximum.{0,20}tokens|exceeds.{0,40}tokens/i;

/** The connection broke, or an answer could not be read to its end: another request may do better. */
export function isPassing(error: unknown): boolean {
  return APICallError.isInstance(error)
    ? error.statusCode === undefined || error.statusCode === 200
    : !isBug(error);
}

function isBug(error: unknown): boolean {
  return error instanceof TypeError && !/fetch failed|terminated|network/i.test(error.message);
}

export function toStepError(error: unknown): Error {
  if (!APICallError.isInstance(error)) return error as Error;
  const { statusCode, message } = error;
  const words = message.slice(0, wordsMax);
  const isTooLong = statusCode === 400 && tooLong.test(`${message} ${error.responseBody ?? ''}`);
  return new StepError(`The model refused the request (${statusCode ?? 'no answer'}): ${words}`, {
    isKnown: statusCode === statusOfLimit,
    isTooLong,
  });
}
