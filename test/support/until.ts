// Waits for something outside of this process by polling, with a timeout.
import { setTimeout as wait } from 'node:timers/promises';

const everyMs = 20;
const boundMs = 10_000;
/**
 * Timeouts are for what never happens. On a busy machine everything takes longer, so each is multiplied by this factor.
 */
const timeoutFactor = 4;

/** The first result of `probe` that is neither undefined nor false. Throws with `what` at the timeout. */
export async function until<Value>(
  what: string,
  probe: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = boundMs,
): Promise<Value> {
  const boundedMs = withinMs * timeoutFactor;
  const end = performance.now() + boundedMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) throw new Error(`waited ${boundedMs} ms in vain: ${what}`);
    await wait(everyMs);
  }
}

export interface Watched<Value> {
  readonly promise: Promise<Value>;
  settled(): boolean;
}

/** A promise that can be asked whether it has settled, and that may fail unobserved. */
export function watch<Value>(promise: Promise<Value>): Watched<Value> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  return { promise, settled: () => settled };
}
