// What may go wrong when a model is asked, and what becomes of it.
import { APICallError } from 'ai';
import { textOf } from '../../text/foreignText.ts';

const statusOfLimit = 402;
const statusOfTooLarge = 413;
/** A provider in trouble says so in the middle of a stream, too, where the gateway cannot ask again. */
const passingStatuses: readonly number[] = [408, 409, 429];
const wordsMax = 500;

/** The turn cannot go on. `isKnown`: the gateway has told the user why already. */
export class StepError extends Error {
  readonly isKnown: boolean;
  readonly isTooLong: boolean;
  /** The provider takes something in the request for wrong. */
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
  /context.{0,20}(length|window|limit|size)|too (long|large|many tokens)|maximum.{0,20}tokens|exceed.{0,40}(tokens|context)|reduce the length/i;

/** What a provider tells in the middle of a stream is any value. */
function messageOf(error: unknown): string {
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as { message?: unknown };
  return typeof message === 'string' ? message : textOf(error);
}

/** The provider has said no; undefined where an answer had begun, or none came. */
function refusalOf(error: unknown): APICallError | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const { statusCode = 200 } = error;
  const isPassingStatus = statusCode === 200 || statusCode >= 500 || passingStatuses.includes(statusCode);
  return isPassingStatus ? undefined : error;
}

/** Of the libraries, which name what cannot be sent at all, or of ours. */
function isBug(error: unknown): boolean {
  if (error instanceof TypeError) return !/fetch failed|terminated|network/i.test(error.message);
  return (
    error instanceof Error && /^AI_(Invalid(Prompt|Argument)|Unsupported|MissingToolResult)/.test(error.name)
  );
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
  const isTooLong = statusCode === statusOfTooLarge || tooLong.test(`${words} ${responseBody}`);
  return new StepError(`The model refused the request (${statusCode}): ${words}`, {
    isKnown: statusCode === statusOfLimit,
    isTooLong: isTooLong && statusCode !== statusOfLimit,
    isRefused: statusCode !== statusOfLimit,
  });
}
