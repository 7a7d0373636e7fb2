// Finds the words that differ between a removed line and the added line that replaces it.
import { diffWordsWithSpace } from 'diff';
import type { Segment } from '../../code/tokens.ts';
import type { DiffLine } from './diff.ts';

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Longer lines are not compared, because the time grows with the square of the words. */
const lineCharsMax = 400;
const pairsMax = 400;
/** If more of a line differs, it is another line, and marks would only distract. */
const markedPartMax = 0.6;

function isTooMuch(ranges: readonly Range[], { text }: DiffLine): boolean {
  const marked = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  return marked > text.length * markedPartMax;
}

function comparePair(removed: DiffLine, added: DiffLine): [Range[], Range[]] {
  const [before, after]: [Range[], Range[]] = [[], []];
  if (removed.text.length > lineCharsMax || added.text.length > lineCharsMax) return [before, after];
  let [old, now] = [0, 0];
  for (const { value, added: isAdded, removed: isRemoved } of diffWordsWithSpace(removed.text, added.text)) {
    if (isRemoved) before.push({ from: old, to: old + value.length });
    if (isAdded) after.push({ from: now, to: now + value.length });
    if (!isAdded) old += value.length;
    if (!isRemoved) now += value.length;
  }
  return isTooMuch(before, removed) || isTooMuch(after, added) ? [[], []] : [before, after];
}

function runLength(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): number {
  let end = from;
  while (lines[end]?.kind === kind) end++;
  return end - from;
}

/** The ranges to mark, by the index of the line. Lines are paired in order: the first removed one with the first added one. */
export function wordMarks(lines: readonly DiffLine[]): ReadonlyMap<number, readonly Range[]> {
  const marks = new Map<number, readonly Range[]>();
  let pairs = 0;
  for (let at = 0; at < lines.length && pairs < pairsMax; at++) {
    const removed = runLength(lines, at, 'removed');
    if (removed === 0) continue;
    const added = runLength(lines, at + removed, 'added');
    // With other counts, nobody knows which line replaces which.
    for (let i = 0; removed === added && i < removed && pairs < pairsMax; i++, pairs++) {
      const [old, now] = [at + i, at + removed + i];
      const [before, after] = comparePair(lines[old] as DiffLine, lines[now] as DiffLine);
      if (before.length > 0) marks.set(old, before);
      if (after.length > 0) marks.set(now, after);
    }
    at += removed + added - 1;
  }
  return marks;
}

export interface MarkedSegment extends Segment {
  readonly isMarked: boolean;
}

/** Splits segments at the borders of the ranges, which are sorted. */
export function markSegments(segments: readonly Segment[], ranges: readonly Range[]): MarkedSegment[] {
  const found: MarkedSegment[] = [];
  let at = 0;
  for (const { text, kind } of segments) {
    const end = at + text.length;
    const start = at;
    const add = (to: number, isMarked: boolean) => {
      if (to > at) found.push({ text: text.slice(at - start, to - start), kind, isMarked });
      at = Math.max(at, to);
    };
    for (const range of ranges) {
      if (range.to <= at || range.from >= end) continue;
      add(Math.min(range.from, end), false);
      add(Math.min(range.to, end), true);
    }
    add(end, false);
  }
  return found;
}
