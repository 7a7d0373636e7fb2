// Reads a value for metrics from something that is slow or may be down, so that many scrapes cost as much as one.

/** Scrapes within this time share one read. */
const ageMsMax = 5_000;
/** A scrape does not wait longer. */
const waitMsMax = 2_000;

interface SharedReadTimes {
  readonly ageMs: number;
  readonly waitMs: number;
}

/**
 * Returns a function that never rejects. It returns undefined if the value cannot be read, or not in time. Only one read is
 * under way at a time.
 */
export function createSharedRead<Value>(
  read: () => Promise<Value>,
  { ageMs, waitMs }: SharedReadTimes = { ageMs: ageMsMax, waitMs: waitMsMax },
): () => Promise<Value | undefined> {
  let readAt = Number.NEGATIVE_INFINITY;
  let isReading = false;
  let latest: Promise<Value | undefined> = Promise.resolve(undefined);

  function start(): void {
    readAt = performance.now();
    isReading = true;
    const reading = read()
      .catch(() => undefined)
      .finally(() => {
        isReading = false;
      });
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), waitMs);
    latest = Promise.race([reading, late.promise]).finally(() => clearTimeout(timer));
  }

  return () => {
    if (!isReading && performance.now() - readAt >= ageMs) start();
    return latest;
  };
}
