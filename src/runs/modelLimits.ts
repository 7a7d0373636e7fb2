// The limits of the settings on model requests and their cost. Reaching one ends the turn, then the conversation.
import type { ModelLimit } from '../gateway/usage/meter.ts';
import { RunEnd } from './runEnd.ts';

/** How long an agent that was told to stop may take to end its turn. */
const endTurnMs = 5_000;

export interface RunLimits {
  /** The sentence replaces the usual one of the limit. */
  meet(limit: ModelLimit, sentence?: string): void;
  /** Calls back when the first limit is reached, so that the agent can be told. */
  onMet(listener: () => void): void;
  /** Throws if a limit was reached. */
  check(): void;
  /** Rejects if a limit was reached and the turn still does not end. */
  readonly overdue: Promise<never>;
}

export function createLimits(): RunLimits {
  const overdue = Promise.withResolvers<never>();
  overdue.promise.catch(() => {
    // The promise may be awaited later, so the rejection is not unhandled.
  });
  let met: RunEnd | undefined;
  let notify = () => {};
  return {
    meet: (limit, sentence) => {
      if (met !== undefined) return;
      const end = new RunEnd(limit, sentence);
      met = end;
      setTimeout(() => overdue.reject(end), endTurnMs).unref();
      notify();
    },
    onMet: (listener) => {
      notify = listener;
    },
    check: () => {
      if (met !== undefined) throw met;
    },
    overdue: overdue.promise,
  };
}
