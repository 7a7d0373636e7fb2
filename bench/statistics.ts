// Medians and percentiles, so that one slow round neither determines a figure nor disappears in an average.

/** Returns the percentile of the sorted values; 0 if there are none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}

/** Returns minimum and maximum as text, which shows how much the rounds differ. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  return `${show(Math.min(...values))}–${show(Math.max(...values))}`;
}
