// Folds empty lines and wide gaps in a text that needs approval, because they could push a part of it out of sight.

export interface FoldNotes {
  emptyLines(count: number): string;
  spaces(count: number): string;
}

export const englishNotes: FoldNotes = {
  emptyLines: (count) => `${count} empty lines`,
  spaces: (count) => `${count} spaces`,
};

const emptyLinesMax = 2;
const gapColumnsMax = 60;
const tabColumns = 8;

/** U+2800 is a letter to programs and a space to people. */
const gap = /(?:[^\S\n]|\u2800){8,}/g;
const blank = /^[\s\u2800]*$/;

function columnsOf(spaces: string): number {
  return [...spaces].reduce((sum, one) => sum + (one === '\t' ? tabColumns : 1), 0);
}

/** Replaces every wide gap within a line with a note. */
export function foldSpaces(text: string, notes: FoldNotes): string {
  return text.replace(gap, (spaces) =>
    columnsOf(spaces) > gapColumnsMax ? ` ⟨${notes.spaces(spaces.length)}⟩ ` : spaces,
  );
}

export function isBlank(text: string): boolean {
  return blank.test(text);
}

/**
 * Replaces more than two consecutive empty lines with the result of `fold`. `signOf` returns undefined for a line that
 * is not empty; empty lines with different signs are not folded together.
 */
export function foldLines<Line>(
  lines: readonly Line[],
  signOf: (line: Line) => string | undefined,
  fold: (first: Line, count: number) => Line,
): Line[] {
  const folded: Line[] = [];
  for (let at = 0; at < lines.length; ) {
    const first = lines[at] as Line;
    const sign = signOf(first);
    let end = at + 1;
    while (sign !== undefined && end < lines.length && signOf(lines[end] as Line) === sign) end++;
    if (end - at > emptyLinesMax) folded.push(fold(first, end - at));
    else folded.push(...lines.slice(at, end));
    at = end;
  }
  return folded;
}

export function foldBlanks(text: string, notes: FoldNotes): string {
  const lines = foldLines(
    text.split('\n'),
    (line) => (isBlank(line) ? '' : undefined),
    (_, count) => `⟨${notes.emptyLines(count)}⟩`,
  );
  return foldSpaces(lines.join('\n'), notes);
}

/** Does the same for a unified diff, in which each line starts with a sign. */
export function foldDiffBlanks(diff: string, notes: FoldNotes): string {
  const lines = foldLines(
    diff.split('\n'),
    (line) => (/^[-+ ]?$/.test(line.slice(0, 1)) && isBlank(line.slice(1)) ? line.slice(0, 1) : undefined),
    (first, count) => `${first.slice(0, 1)}⟨${notes.emptyLines(count)}⟩`,
  );
  return foldSpaces(lines.join('\n'), notes);
}
