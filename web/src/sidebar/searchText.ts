// The text of a search as the user types it, and the marks in what was found.

const endsInWord = /[\p{L}\p{N}]$/u;
const hasWord = /[\p{L}\p{N}]/u;

/** The query for the service, where the last word may be unfinished; undefined if there is nothing to search for. */
export function searchQuery(text: string): string | undefined {
  const trimmed = text.trim();
  if (!hasWord.test(trimmed)) return undefined;
  // Within a phrase, a star would be part of it.
  const isInPhrase = (trimmed.match(/"/g)?.length ?? 0) % 2 === 1;
  return endsInWord.test(trimmed) && !isInPhrase ? `${trimmed}*` : trimmed;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

interface Part {
  readonly part: string;
  readonly start: number;
  readonly isMarked: boolean;
}

/** Cuts the text where ranges start and end. */
export function markedParts(text: string, ranges: readonly Range[]): Part[] {
  const parts: Part[] = [];
  let at = 0;
  const add = (end: number, isMarked: boolean) => {
    if (end > at) parts.push({ part: text.slice(at, end), start: at, isMarked });
    at = Math.max(at, end);
  };
  for (const { start, end } of ranges) {
    add(start, false);
    add(end, true);
  }
  add(text.length, false);
  return parts;
}
