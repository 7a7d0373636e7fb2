// Splits text into the words that are indexed and searched for. It is done here, so that both databases find the same:
// their own parsers differ, and know no words in scripts that are written without spaces.

/** Longer words are cut. They are hashes or encoded data. */
const wordCharsMax = 64;
/** Enough for a word with an accent on each character. */
const foldedCharsMax = 4 * wordCharsMax;

/** A word as it is indexed, and where it is in the text, in UTF-16 code units. */
export interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** For two characters of a script without spaces: the end of the first one. */
  readonly firstEnd?: number;
}

const runs = /[\p{L}\p{N}\p{M}]+/gu;
const isAscii = /^[\0-\x7f]*$/;
const accents = /[\u0300-\u036f]/g;
const otherAscii = /[\0-/:-@[-`{-\x7f]/g;
const unspacedScripts = [
  'Han',
  'Hiragana',
  'Katakana',
  'Hangul',
  'Bopomofo',
  'Thai',
  'Lao',
  'Khmer',
  'Myanmar',
];
const unspacedClass = unspacedScripts.map((script) => `\\p{scx=${script}}`).join('');
const hasUnspaced = new RegExp(`[${unspacedClass}]`, 'u');
/** The parts of a run: of scripts with and without spaces. */
const parts = new RegExp(`(?<unspaced>[${unspacedClass}]+)|[^${unspacedClass}]+`, 'gu');

/** Case, accents and compatibility forms do not matter. */
function fold(run: string): string {
  if (isAscii.test(run)) return run.toLowerCase();
  return run
    .toLowerCase()
    .normalize('NFKD')
    .replace(accents, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(otherAscii, '');
}

function wordOf(text: string, start: number): Word[] {
  const folded = fold(text.slice(0, foldedCharsMax));
  const word = folded.length <= wordCharsMax ? folded : Array.from(folded).slice(0, wordCharsMax).join('');
  return word === '' ? [] : [{ word, start, end: start + text.length }];
}

/** Text without spaces is indexed as pairs of characters, and the last character alone, so that any part is found. */
function pairsOf(text: string, start: number): Word[] {
  const chars: { char: string; start: number; end: number }[] = [];
  let at = start;
  for (const char of text) {
    const folded = fold(char);
    if (folded !== '') chars.push({ char: folded, start: at, end: at + char.length });
    at += char.length;
  }
  return chars.map((first, i) => {
    const second = chars[i + 1];
    return second === undefined
      ? { word: first.char, start: first.start, end: first.end, firstEnd: first.end }
      : { word: first.char + second.char, start: first.start, end: second.end, firstEnd: first.end };
  });
}

function wordsOfRun(run: string, start: number): Word[] {
  if (isAscii.test(run) || !hasUnspaced.test(run)) return wordOf(run, start);
  return [...run.matchAll(parts)].flatMap(({ 0: part, index, groups }) =>
    groups?.['unspaced'] === undefined ? wordOf(part, start + index) : pairsOf(part, start + index),
  );
}

/** Yields the words of a text, in order. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: run, index } of text.matchAll(runs)) yield* wordsOfRun(run, index);
}
