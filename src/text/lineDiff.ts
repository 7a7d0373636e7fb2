// Compares two texts line by line, in the same way for the log, the web UI and the command line.
import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from 'diff';

const contextLines = 3;
/** The time grows with the square of the edits: this many take a fifth of a second. */
const editsDefault = 1_000;

/** The lines keep their line breaks, so that a missing last one counts as a difference. */
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

function singleHunk(original: string, modified: string): StructuredPatchHunk {
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
 * Returns no hunks if the texts are equal, and a single one from the first difference to the last if more than
 * `editsMax` lines differ.
 */
export function diffLines(
  original: string,
  modified: string,
  editsMax: number = editsDefault,
): StructuredPatchHunk[] {
  const options = { context: contextLines, maxEditLength: editsMax };
  const found = structuredPatch('', '', original, modified, undefined, undefined, options);
  return found?.hunks ?? [singleHunk(original, modified)];
}

/** Formats the hunks as a unified diff without file names. */
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
