// Parses unified diffs into lines, and compares two versions of a file.
import { type FoldNotes, foldLines, foldSpaces, isBlank } from '../../../../src/text/foldBlanks.ts';
import { diffLines, hunksText } from '../../../../src/text/lineDiff.ts';
import { visibleText } from '../../components/visibleText.ts';
import { shortPath } from './paths.ts';

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk' | 'file';
  readonly text: string;
}

const kinds = { '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' } as const;
const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const noFile = '/dev/null';

function toLine(line: string): DiffLine {
  const kind = kinds[line[0] as keyof typeof kinds] ?? 'same';
  return { kind, text: visibleText(kind === 'hunk' ? line : line.slice(1)) };
}

/** Returns undefined unless the two lines are the header of a file. */
function fileOf(before: string, after = ''): DiffLine | undefined {
  if (!before.startsWith('--- ') || !after.startsWith('+++ ')) return undefined;
  const names = [before, after].map((line) => line.slice(4)).filter((name) => name !== noFile);
  return { kind: 'file', text: visibleText([...new Set(names.map(shortPath))].join(' → ')) };
}

/** The counts of a hunk determine which lines belong to it, even if they look like headers. */
function readLines(diff: string): DiffLine[] {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const left = { before: 0, after: 0 };
  const found: DiffLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const inHunk = left.before > 0 || left.after > 0;
    const file = inHunk ? undefined : fileOf(line, lines[at + 1]);
    if (file !== undefined) at++;
    const [head, before = '1', after = '1'] = (inHunk ? undefined : hunkHead.exec(line)) ?? [];
    if (head !== undefined) Object.assign(left, { before: Number(before), after: Number(after) });
    else if (inHunk && !line.startsWith('\\')) {
      if (!line.startsWith('+')) left.before--;
      if (!line.startsWith('-')) left.after--;
    }
    found.push(file ?? toLine(line));
  }
  return found;
}

/** Omits the file name if there is only one, and it is already shown. */
export function readDiff(diff: string, shown?: string): DiffLine[] {
  const lines = readLines(diff);
  const names = lines.filter(({ kind }) => kind === 'file');
  const isShown = names.length === 1 && names[0]?.text === shown;
  return isShown ? lines.filter(({ kind }) => kind !== 'file') : lines;
}

/** Returns no lines if the texts are equal. */
export function compare(original: string, modified: string): DiffLine[] {
  return readDiff(hunksText(diffLines(original, modified)));
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  return {
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
  };
}

/** Folds empty lines and wide gaps, so that they cannot push part of an approval request out of view. */
export function foldDiffLines(lines: readonly DiffLine[], notes: FoldNotes): DiffLine[] {
  return foldLines(
    lines,
    ({ kind, text }) => (isBlank(text) ? kind : undefined),
    ({ kind }, count) => ({ kind, text: `⟨${notes.emptyLines(count)}⟩` }),
  ).map(({ kind, text }) => ({ kind, text: foldSpaces(text, notes) }));
}
