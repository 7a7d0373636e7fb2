// Passing troubles of a provider are tried again here, for all agents alike: left alone, most of them hang or give up.
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { OutgoingError } from '../outgoing/errors.ts';
import { Refusal } from './refusal.ts';
import type { GatewayTimes } from './times.ts';

const attemptsMax = 5;

interface Attempts {
  readonly send: () => Promise<IncomingMessage>;
  /** The host and port that are asked. */
  readonly place: string;
  readonly signal: AbortSignal;
  readonly times: Pick<GatewayTimes, 'firstPauseMs' | 'pauseMsMax'>;
  /** Called before each pause. */
  readonly onRetry: (sentence: string) => void;
}

function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** What the provider asks for, or longer each time. */
function pauseMs(
  { times: { firstPauseMs, pauseMsMax } }: Attempts,
  before: number,
  retryAfter: string | undefined,
): number {
  const asked = Number(retryAfter) * 1_000;
  return Math.min(pauseMsMax, asked > 0 ? asked : firstPauseMs * 2 ** before);
}

type Outcome = IncomingMessage | { readonly why: string; readonly retryAfter?: string | undefined };

async function tryOnce({ send, place, signal }: Attempts): Promise<Outcome> {
  try {
    const answer = await send();
    const { statusCode = 0, headers } = answer;
    if (!isPassing(statusCode)) return answer;
    answer.resume();
    return {
      why: `The provider of the model answers with ${statusCode}.`,
      retryAfter: headers['retry-after'],
    };
  } catch (error) {
    if (signal.aborted || !(error instanceof OutgoingError)) throw error;
    const why = `The provider of the model at ${place} cannot be reached: ${error.message}`;
    if (error.code === 'address_not_allowed') throw new Refusal(why);
    return { why };
  }
}

/** The first answer that is no passing trouble. Rejects with Refusal, or the reason of the signal. */
export async function attempt(attempts: Attempts): Promise<IncomingMessage> {
  for (let before = 0; ; before++) {
    const outcome = await tryOnce(attempts);
    if (!('why' in outcome)) return outcome;
    if (before === attemptsMax - 1) throw new Refusal(`${outcome.why} It was tried ${attemptsMax} times.`);
    const ms = pauseMs(attempts, before, outcome.retryAfter);
    attempts.onRetry(`${outcome.why} Trying again in ${Math.ceil(ms / 1_000)} s.`);
    await pause(ms, undefined, { signal: attempts.signal });
  }
}
