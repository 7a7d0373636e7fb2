// Medians and percentiles: one slow round must not make a figure, nor hide in an average.

/** The value below which that share of the sorted values lies; 0 where there are none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? 0)) / 2;
}

/** From the least to the most, as text: how far the rounds lie apart. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  return `${show(Math.min(...values))}–${show(Math.max(...values))}`;
}
