// What a user searches for: words, "phrases" and prefixes*, all of which must be in the text. Only words reach the
// databases, so that nothing in a query can have a meaning in their query languages.
import { wordsOf } from './words.ts';

/** More would only make a search slow. */
export const queryWordsMax = 64;
/** Shorter prefixes match whole words, because too many words begin with one letter. */
const prefixCharsMin = 2;

/** Words that follow each other. Of the last one, only the beginning need match if `isPrefix`. */
export interface Term {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

/** Quoted text, to the end if the quote is not closed, or text without spaces. */
const items = /"([^"]*)"?(\*?)|([^\s"]+)/gu;

function termOf(text: string, isMarked: boolean): Term | undefined {
  const found = [...wordsOf(text)];
  const last = found.at(-1);
  if (last === undefined) return undefined;
  const isUnspaced = last.firstEnd !== undefined;
  const isSingle = isUnspaced && found.at(-2)?.end !== last.end;
  const words = found.map(({ word }) => word);
  // More text without spaces may follow, unless this is a single character: then any pair that begins with it matches.
  if (isUnspaced && !isSingle) return { words: words.slice(0, -1), isPrefix: false };
  return {
    words,
    isPrefix: isSingle || (isMarked && !isUnspaced && Array.from(last.word).length >= prefixCharsMin),
  };
}

/** The terms of a query; none if it contains no word. */
export function parseQuery(text: string): Term[] {
  const terms = new Map<string, Term>();
  for (const [, quoted, mark, plain] of text.matchAll(items)) {
    const item = quoted ?? plain ?? '';
    const term = termOf(item, mark === '*' || item.endsWith('*'));
    if (term !== undefined) terms.set(JSON.stringify(term), term);
  }
  return [...terms.values()];
}

/** In the language of FTS5. */
export function toFts(terms: readonly Term[]): string {
  return terms.map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? ' *' : ''}`).join(' AND ');
}

/** In the language of PostgreSQL's `tsquery`. */
export function toTsquery(terms: readonly Term[]): string {
  return terms
    .map(({ words, isPrefix }) => {
      const phrase = words.map((word) => `'${word}'`).join(' <-> ');
      return `(${phrase}${isPrefix ? ':*' : ''})`;
    })
    .join(' & ');
}
