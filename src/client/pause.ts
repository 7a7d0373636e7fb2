// Delays between attempts: exponential, with jitter, and interrupted by the signal of the caller.

/** The longest delay of a timer. A longer one would fire at once. */
const timerMsMax = 2 ** 31 - 1;

/** Infinity means that the timer never fires. */
export function startTimer(ms: number, act: () => void): ReturnType<typeof setTimeout> | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(act, Math.min(ms, timerMsMax));
}

/** Starts with `firstMs` and doubles up to `maxMs`, less a random part of up to a half. */
export function backOffMs(failures: number, firstMs: number, maxMs: number): number {
  const fullMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
  return fullMs * (1 - Math.random() / 2);
}

/** Resolves early when a browser is online again. Rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // Only browsers have these events, so the types of Node do not know them.
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
