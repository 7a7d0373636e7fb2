// Finds secret values in text, also in text that is still being written: a value may arrive in any pieces.

export interface SecretValues {
  /** Replaces every value with the mask, and the beginning of one that is cut off. */
  mask(text: string): string;
  /** Also replaces the end of a value whose beginning is cut off. Not for text that arrives in pieces. */
  maskCut(text: string): string;
  /**
   * How much of the beginning of a text is settled: whatever follows, no value lies across the end of that part, so that
   * both parts can be masked one after the other.
   */
  settledLength(text: string): number;
  /** The length of the longest value. */
  readonly longest: number;
}

/** Masks text that arrives in pieces. */
export interface MaskedStream {
  /** Returns what can be shown now. The rest is held back, because a value may begin in it. */
  add(piece: string): string;
  /** Returns what was held back. */
  end(): string;
}

/**
 * Programs cut long text at any position. A shorter part of a value is not looked for: many values begin alike, such as
 * URLs and keys of one provider.
 */
const cutCharsMin = 12;
const cutShareMin = 0.5;

interface Value {
  readonly text: string;
  /** For each prefix, the length of the longest shorter prefix with which it ends (Knuth, Morris and Pratt). */
  borders: Uint32Array | undefined;
  backwards: Value | undefined;
}

function bordersOf(text: string): Uint32Array {
  const borders = new Uint32Array(text.length);
  for (let i = 1, length = 0; i < text.length; i++) {
    while (length > 0 && text[i] !== text[length]) length = borders[length - 1] ?? 0;
    if (text[i] === text[length]) length++;
    borders[i] = length;
  }
  return borders;
}

/** The length of the longest end of the text with which the value begins, without the value as a whole. */
function begunLength(text: string, value: Value): number {
  const [first] = value.text;
  const from =
    first === undefined ? -1 : text.indexOf(first, Math.max(0, text.length - value.text.length + 1));
  if (from < 0) return 0;
  value.borders ??= bordersOf(value.text);
  let length = 0;
  for (let i = from; i < text.length; i++) {
    while (length > 0 && text[i] !== value.text[length]) length = value.borders[length - 1] ?? 0;
    if (text[i] === value.text[length]) length++;
  }
  return length;
}

/** Where a value that lies across the position begins, as a whole or cut off; undefined if there is none. */
function startAcross(text: string, at: number, value: string): number | undefined {
  const from = Math.max(0, at - value.length + 1);
  const around = text.slice(from, at + value.length - 1);
  const whole = around.indexOf(value);
  let cut = findBeginning(around, 0, value);
  while (cut !== undefined && from + cut.end <= at) cut = findBeginning(around, cut.start + 1, value);
  const starts = [whole, cut === undefined || from + cut.start >= at ? -1 : cut.start];
  const found = starts.filter((start) => start >= 0);
  return found.length === 0 ? undefined : from + Math.min(...found);
}

/** How much of a value is masked if the rest is cut off; undefined if it is too short for that. */
function cutLength({ length }: string): number | undefined {
  const least = Math.max(cutCharsMin, Math.ceil(length * cutShareMin));
  return length > least ? least : undefined;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The first place at or after the position where the value begins, and how far the text agrees with it. */
function findBeginning(text: string, from: number, value: string): Range | undefined {
  const length = cutLength(value);
  const start = length === undefined ? -1 : text.indexOf(value.slice(0, length), from);
  if (length === undefined || start < 0) return undefined;
  let end = start + length;
  while (end < text.length && text[end] === value[end - start]) end++;
  return { start, end };
}

/** Adds a range, and joins it with the last one if they overlap. */
function addRange(ranges: Range[], range: Range): void {
  const last = ranges.at(-1);
  if (last === undefined || range.start >= last.end) return void ranges.push(range);
  ranges[ranges.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
}

/** Every range in which the text agrees with the value from its beginning, as a whole or cut off. */
function findAgreeing(text: string, value: Value): Range[] {
  const least = cutLength(value.text) ?? value.text.length;
  const beginning = value.text.slice(0, least);
  const ranges: Range[] = [];
  let i = text.indexOf(beginning);
  if (i < 0) return ranges;
  value.borders ??= bordersOf(value.text);
  for (let length = 0; i < text.length; i++) {
    while (length > 0 && text[i] !== value.text[length]) length = value.borders[length - 1] ?? 0;
    if (text[i] === value.text[length]) length++;
    if (length >= least) addRange(ranges, { start: i - length + 1, end: i + 1 });
    if (length > 0) continue;
    const next = text.indexOf(beginning, i + 1);
    if (next < 0) break;
    i = next - 1;
  }
  return ranges;
}

function reversed(text: string): string {
  return text.split('').reverse().join('');
}

/** The same from its end. */
function findEnds(text: string, value: Value): Range[] {
  const length = cutLength(value.text);
  if (length === undefined || !text.includes(value.text.slice(-length))) return [];
  value.backwards ??= { text: reversed(value.text), borders: undefined, backwards: undefined };
  return findAgreeing(reversed(text), value.backwards).map(({ start, end }) => ({
    start: text.length - end,
    end: text.length - start,
  }));
}

/** Returns the text around the ranges. Those that overlap become one, so that nothing is left of either value. */
function splitAt(text: string, ranges: readonly Range[]): string[] {
  const joined: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) addRange(joined, range);
  const parts = joined.map(({ start }, i) => text.slice(joined[i - 1]?.end ?? 0, start));
  return [...parts, text.slice(joined.at(-1)?.end ?? 0)];
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/** Whether a character of two units lies across the position, or may do so when more text follows. */
function splitsCharacter(text: string, at: number): boolean {
  return at > 0 && isHigh(text.charCodeAt(at - 1)) && (at === text.length || isLow(text.charCodeAt(at)));
}

/** The values must not be empty. Where some of them overlap, all of that is replaced with one mask. */
export function createSecretValues(texts: Iterable<string>, mask: string): SecretValues {
  const values = [...new Set(texts)]
    .toSorted((a, b) => b.length - a.length)
    .map((text): Value => ({ text, borders: undefined, backwards: undefined }));

  /** The nearest earlier position that no value and no character lies across. */
  function stepBack(text: string, at: number): number {
    if (splitsCharacter(text, at)) return at - 1;
    if (at === text.length) return at;
    return values.reduce((earliest, { text: value }) => startAcross(text, earliest, value) ?? earliest, at);
  }

  /** Values are looked for one by one, because a single pattern of all of them can be too large. */
  function splitBy(text: string, find: (text: string, value: Value) => Range[]): string[] {
    return splitAt(
      text,
      values.flatMap((value) => find(text, value)),
    );
  }

  return {
    longest: values[0]?.text.length ?? 0,
    mask: (text) => splitBy(text, findAgreeing).join(mask),
    // Ends come last, as for text that arrives in pieces: the end of one value may be another one.
    maskCut: (text) =>
      splitBy(text, findAgreeing)
        .flatMap((part) => splitBy(part, findEnds))
        .join(mask),
    settledLength: (text) => {
      const begun = values.reduce((longest, value) => Math.max(longest, begunLength(text, value)), 0);
      for (let at = text.length - begun; ; ) {
        const before = stepBack(text, at);
        if (before === at) return at;
        at = before;
      }
    },
  };
}

/** Held back at most, besides what can begin a value: only values that overlap without end need more. */
const overlapCharsMax = 4_096;

/** `values` are read for each piece, because more may be added. All text together is masked like the whole text. */
export function createMaskedStream(values: () => SecretValues, mask: string): MaskedStream {
  let held = '';
  return {
    add: (piece) => {
      const text = held + piece;
      const { settledLength, mask: maskText, longest } = values();
      const length = settledLength(text);
      held = text.slice(length);
      const shown = maskText(text.slice(0, length)).toWellFormed();
      if (held.length <= 2 * longest + overlapCharsMax) return shown;
      held = '';
      return shown + mask;
    },
    end: () => {
      const rest = values().mask(held).toWellFormed();
      held = '';
      return rest;
    },
  };
}
