// The limits of the settings on model requests and their cost: one that is met ends the turn, and then the conversation.
import type { ModelLimit } from '../gateway/usage/meter.ts';
import { RunEnd } from './runEnd.ts';

/** For so long an agent that was told to stop may end its turn. */
const endTurnMs = 5_000;

export interface RunLimits {
  meet(limit: ModelLimit): void;
  /** Called when the first is met: the agent is to be told. */
  onMet(listener: () => void): void;
  /** Throws where one was met. */
  check(): void;
  /** Rejects where one was met and the turn goes on all the same. */
  readonly overdue: Promise<never>;
}

export function createLimits(): RunLimits {
  const overdue = Promise.withResolvers<never>();
  overdue.promise.catch(() => {
    // Whoever waits hears of it.
  });
  let met: RunEnd | undefined;
  let notify = () => {};
  return {
    meet: (limit) => {
      if (met !== undefined) return;
      const end = new RunEnd(limit);
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
