// Classifies errors of model requests.
import { APICallError } from 'ai';
import { textOf } from '../../text/foreignText.ts';

const statusOfLimit = 402;
const statusOfTooLarge = 413;
/** Providers also report these in the middle of a stream, where the gateway cannot retry. */
const temporaryStatuses: readonly number[] = [408, 409, 429];
const wordsMax = 500;

/** The turn cannot continue. If `isKnown` is set, the gateway has already told the user why. */
export class StepError extends Error {
  readonly isKnown: boolean;
  readonly isTooLong: boolean;
  /** The provider considers the request invalid. */
  readonly isRefused: boolean;

  constructor(message: string, { isKnown = false, isTooLong = false, isRefused = false } = {}) {
    super(message);
    this.name = 'StepError';
    this.isKnown = isKnown;
    this.isTooLong = isTooLong;
    this.isRefused = isRefused;
  }
}

/** Matches error messages about the length. Providers have no common code for it. */
const tooLong =
  /context.{0,20}(length|window|limit|size)|too (long|large|many tokens)|maximum.{0,20}tokens|exceed.{0,40}(tokens|context)|reduce the length/i;

/** Errors in the middle of a stream may be any value. */
function messageOf(error: unknown): string {
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as { message?: unknown };
  return typeof message === 'string' ? message : textOf(error);
}

/** Returns the error if the provider refused the request; undefined if the response had begun, or there was none. */
function refusalOf(error: unknown): APICallError | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const { statusCode = 200 } = error;
  const isTemporary = statusCode === 200 || statusCode >= 500 || temporaryStatuses.includes(statusCode);
  return isTemporary ? undefined : error;
}

/** Whether it is a bug of Parley, or an error of the libraries about a request that cannot be sent. */
function isBug(error: unknown): boolean {
  if (error instanceof TypeError) return !/fetch failed|terminated|network/i.test(error.message);
  return (
    error instanceof Error && /^AI_(Invalid(Prompt|Argument)|Unsupported|MissingToolResult)/.test(error.name)
  );
}

/** Whether a retry may succeed, because the connection broke or the response was incomplete. */
export function isTemporary(error: unknown): boolean {
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
