// Waiting before another try: longer each time, not all at the same moment, and no longer than the caller wants.

/** The longest that timers can wait: more would be no time at all. */
const timerMsMax = 2 ** 31 - 1;

/** Infinity: never. */
export function startTimer(ms: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(act, Math.min(ms, timerMsMax));
}

/** From `firstMs` on twice as long each time, up to `maxMs`, less up to a half by chance. */
export function backOffMs(failures: number, firstMs: number, maxMs: number): number {
  const fullMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
  return fullMs * (1 - Math.random() / 2);
}

/** Ends early when a browser is online again. Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // Only browsers have it; Node's types do not know that it may be there.
  const page = globalThis as unknown as Partial<EventTarget>;
  return new Promise((resolve, reject) => {
    const done = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      page.removeEventListener?.('online', wake);
      settle();
    };
    const abort = () => done(() => reject(signal?.reason));
    const wake = () => done(resolve);
    const timer = startTimer(ms, wake);
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    page.addEventListener?.('online', wake);
  });
}
