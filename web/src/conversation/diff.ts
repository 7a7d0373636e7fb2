// Differences of texts as lines to draw: of a diff in the log, or between two versions of a file.
import { diffLines, hunksText } from '../../../src/lineDiff.ts';

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk';
  readonly text: string;
}

/** The names of the files before their first piece; a line that went away may look like the first of them. */
const names = /^--- .*\n\+\+\+ .*\n(?=@@ )/gm;
const kinds = { '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' } as const;

function toLine(line: string): DiffLine {
  const kind = kinds[line[0] as keyof typeof kinds] ?? 'same';
  return { kind, text: kind === 'hunk' ? line : line.slice(1) };
}

/** The lines of a unified diff, without the names of the files. */
export function readDiff(diff: string): DiffLine[] {
  const lines = diff.replace(names, '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map(toLine);
}

/** What changed, with a few lines around it; nothing where the texts are the same. */
export function compare(original: string, modified: string): DiffLine[] {
  return readDiff(hunksText(diffLines(original, modified)));
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  return {
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
  };
}
