// The parts of a tall element that have been on the screen, as distances from its top.

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Browsers round positions, so that adjacent ranges may be this far apart. */
const roundingPx = 2;

/** Returns the ranges in order, with adjacent and overlapping ones merged. */
export function addRange(ranges: readonly Range[], added: Range): Range[] {
  if (added.to <= added.from) return [...ranges];
  const merged: Range[] = [];
  for (const range of [...ranges, added].toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to + roundingPx) merged.push(range);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) };
  }
  return merged;
}

/** Returns where the first part begins that is in no range, or undefined if the ranges cover the whole height. */
export function firstGap(ranges: readonly Range[], height: number): number | undefined {
  const [first] = ranges;
  if (first === undefined || first.from > roundingPx) return 0;
  return first.to >= height - roundingPx ? undefined : Math.max(0, first.to);
}
