// Waiting for something outside this process: asked again and again, with a bound.
import { setTimeout as wait } from 'node:timers/promises';

const everyMs = 20;
const boundMs = 10_000;
/** Bounds are for what never comes. On a busy machine everything takes longer, so each is stretched by this factor. */
const patience = 4;

/** The first answer of `probe` that is neither undefined nor false. Throws past the bound, naming `what`. */
export async function until<Value>(
  what: string,
  probe: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = boundMs,
): Promise<Value> {
  const boundedMs = withinMs * patience;
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
