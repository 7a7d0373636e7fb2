// What differs between two texts, line by line: the same for the log, the page and the command line.
import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from 'diff';

const contextLines = 3;
/** The work grows with its square: so many take a fifth of a second. */
const editsUsual = 1_000;

/** Lines with their line breaks, so that a missing last one counts. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

function commonStart(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count++;
  return count;
}

function signed(sign: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, '\\ No newline at end of file'],
  );
}

function exchange(original: string, modified: string): StructuredPatchHunk {
  const [old, now] = [linesOf(original), linesOf(modified)];
  const start = commonStart(old, now);
  const end = commonStart(old.slice(start).reverse(), now.slice(start).reverse());
  const from = Math.max(0, start - contextLines);
  const [oldEnd, nowEnd] = [old.length - end, now.length - end];
  const after = now.slice(nowEnd, nowEnd + contextLines);
  return {
    oldStart: from + 1,
    oldLines: oldEnd + after.length - from,
    newStart: from + 1,
    newLines: nowEnd + after.length - from,
    lines: [
      ...signed(' ', old.slice(from, start)),
      ...signed('-', old.slice(start, oldEnd)),
      ...signed('+', now.slice(start, nowEnd)),
      ...signed(' ', after),
    ],
  };
}

/**
 * Without pieces where the texts are the same. Where more lines than `editsMax` come and go, it is one piece from the
 * first line that differs to the last.
 */
export function diffLines(
  original: string,
  modified: string,
  editsMax: number = editsUsual,
): StructuredPatchHunk[] {
  const options = { context: contextLines, maxEditLength: editsMax };
  const found = structuredPatch('', '', original, modified, undefined, undefined, options);
  return found?.hunks ?? [exchange(original, modified)];
}

/** As a unified diff, without the names of the files. */
export function hunksText(hunks: StructuredPatchHunk[]): string {
  if (hunks.length === 0) return '';
  const unnamed = {
    oldFileName: undefined,
    newFileName: undefined,
    oldHeader: undefined,
    newHeader: undefined,
  };
  return formatPatch({ ...unnamed, hunks }, OMIT_HEADERS);
}
