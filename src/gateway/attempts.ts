// Retries transient provider errors for all agents alike. Most agents would hang or give up otherwise.
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { OutgoingError } from '../outgoing/errors.ts';
import { failureOfStatus, type ModelFailure } from './modelCalls.ts';
import { Refusal } from './refusal.ts';
import type { GatewayTimes } from './times.ts';

const attemptsMax = 5;

interface Attempts {
  readonly send: () => Promise<IncomingMessage>;
  /** The host and port of the provider. */
  readonly host: string;
  readonly signal: AbortSignal;
  readonly times: Pick<GatewayTimes, 'firstPauseMs' | 'pauseMsMax'>;
  /** Called before each pause. */
  readonly onRetry: (sentence: string) => void;
}

function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** The delay that the provider asks for, or one that doubles each time. */
function pauseMs(
  { times: { firstPauseMs, pauseMsMax } }: Attempts,
  before: number,
  retryAfter: string | undefined,
): number {
  const asked = Number(retryAfter) * 1_000;
  return Math.min(pauseMsMax, asked > 0 ? asked : firstPauseMs * 2 ** before);
}

interface FailedAttempt {
  readonly why: string;
  readonly failure: ModelFailure;
  readonly retryAfter?: string | undefined;
}

type Outcome = IncomingMessage | FailedAttempt;

async function tryOnce({ send, host, signal }: Attempts): Promise<Outcome> {
  try {
    const answer = await send();
    const { statusCode = 0, headers } = answer;
    if (!isTransient(statusCode)) return answer;
    answer.resume();
    return {
      why: `The model provider returned ${statusCode}.`,
      failure: failureOfStatus(statusCode),
      retryAfter: headers['retry-after'],
    };
  } catch (error) {
    if (signal.aborted || !(error instanceof OutgoingError)) throw error;
    const why = `The model provider at ${host} cannot be reached: ${error.message}`;
    if (error.code === 'address_not_allowed') throw new Refusal(why);
    return { why, failure: 'unreachable' };
  }
}

/** Returns the first answer that is not a transient error. Rejects with Refusal, or with the reason of the signal. */
export async function sendWithRetries(attempts: Attempts): Promise<IncomingMessage> {
  for (let before = 0; ; before++) {
    const outcome = await tryOnce(attempts);
    if (!('why' in outcome)) return outcome;
    const { why, failure } = outcome;
    if (before === attemptsMax - 1)
      throw new Refusal(`${why} It was tried ${attemptsMax} times.`, { failure });
    const ms = pauseMs(attempts, before, outcome.retryAfter);
    attempts.onRetry(`${why} Trying again in ${Math.ceil(ms / 1_000)} s.`);
    await pause(ms, undefined, { signal: attempts.signal });
  }
}
