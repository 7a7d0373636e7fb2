// The parts of something tall that have been on the screen, as distances from its head.

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Browsers round where things are. */
const roundingPx = 2;

/** The spans with another one, sorted; those that touch are one. */
export function addSpan(spans: readonly Span[], added: Span): Span[] {
  if (added.to <= added.from) return [...spans];
  const merged: Span[] = [];
  for (const span of [...spans, added].toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || span.from > last.to + roundingPx) merged.push(span);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
  }
  return merged;
}

/** Where the first part begins that is in none of them; undefined if they cover all of the height. */
export function firstGap(spans: readonly Span[], height: number): number | undefined {
  const [first] = spans;
  if (first === undefined || first.from > roundingPx) return 0;
  return first.to >= height - roundingPx ? undefined : first.to;
}
