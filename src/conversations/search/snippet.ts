// Where a text matches a query, and the part of it that is shown.
import type { Term } from './query.ts';
import { type Word, wordsOf } from './words.ts';

/** In UTF-16 code units, from `start` up to, but not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** How many ranges are returned at most. */
const rangesMax = 50;
const snippetCharsMax = 240;
/** How much of the snippet comes before the first match. */
const beforeChars = 60;

/** Returns where the term is, if it begins at this word. */
function rangeAt(words: readonly Word[], at: number, { words: wanted, isPrefix }: Term): Range | undefined {
  const last = wanted.length - 1;
  for (const [i, word] of wanted.entries()) {
    const found = words[at + i]?.word;
    if (found === undefined) return undefined;
    if (i === last && isPrefix ? !found.startsWith(word) : found !== word) return undefined;
  }
  const first = words[at];
  const end = words[at + last];
  if (first === undefined || end === undefined) return undefined;
  return { start: first.start, end: isPrefix ? (end.firstEnd ?? end.end) : end.end };
}

function joined(ranges: readonly Range[]): Range[] {
  const sorted = ranges.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const out: Range[] = [];
  for (const range of sorted) {
    const last = out.at(-1);
    if (last !== undefined && range.start < last.end)
      out[out.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
    else out.push(range);
  }
  return out;
}

/** Where the terms are in the text, in order; undefined unless all of them are there. */
export function findMatches(text: string, terms: readonly Term[]): Range[] | undefined {
  const words = [...wordsOf(text)];
  const found = terms.map(() => [] as Range[]);
  for (let at = 0; at < words.length; at++)
    for (const [i, term] of terms.entries()) {
      const ranges = found[i];
      if (ranges === undefined || ranges.length >= rangesMax) continue;
      const range = rangeAt(words, at, term);
      if (range !== undefined) ranges.push(range);
    }
  return found.some((ranges) => ranges.length === 0) ? undefined : joined(found.flat());
}

export interface Snippet {
  readonly snippet: string;
  readonly ranges: readonly Range[];
}

/** Moves a cut away from the middle of a character. */
function wholeChar(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** The text around the first match. It is cut without marks, so that the ranges are those of the snippet. */
export function snippetOf(text: string, matches: readonly Range[]): Snippet {
  const first = matches[0]?.start ?? 0;
  const start = text.length <= snippetCharsMax ? 0 : wholeChar(text, Math.max(0, first - beforeChars));
  const end = wholeChar(text, Math.min(text.length, start + snippetCharsMax));
  const ranges = matches
    .filter((range) => range.start < end && range.end > start)
    .map((range) => ({ start: Math.max(range.start, start) - start, end: Math.min(range.end, end) - start }));
  return { snippet: text.slice(start, end), ranges: ranges.slice(0, rangesMax) };
}
