// Parses unified diffs into lines, and compares two versions of a file.
import { type FoldNotes, foldLines, foldSpaces, isBlank } from '../../../../src/text/foldBlanks.ts';
import { diffLines, hunksText } from '../../../../src/text/lineDiff.ts';
import { visibleText } from '../../components/visibleText.ts';
import { shortPath } from './paths.ts';

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk' | 'file';
  readonly text: string;
  /** The number of the line before the change; undefined if it is not there, or not known. */
  readonly oldLine?: number;
  /** The number of the line after the change. */
  readonly newLine?: number;
}

const kinds = { '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' } as const;
const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
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

/** Where a hunk is: the numbers of its next lines, and how many are left. */
interface Position {
  oldLine: number;
  newLine: number;
  oldLeft: number;
  newLeft: number;
}

/** Adds the numbers of a line in a hunk, and moves on. */
function numbered(line: DiffLine, at: Position): DiffLine {
  const { oldLine, newLine } = at;
  const [isOld, isNew] = [line.kind !== 'added', line.kind !== 'removed'];
  if (isOld) [at.oldLine, at.oldLeft] = [oldLine + 1, at.oldLeft - 1];
  if (isNew) [at.newLine, at.newLeft] = [newLine + 1, at.newLeft - 1];
  return { ...line, ...(isOld ? { oldLine } : {}), ...(isNew ? { newLine } : {}) };
}

/** The counts of a hunk determine which lines belong to it, even if they look like headers. */
function readLines(diff: string): DiffLine[] {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const position: Position = { oldLine: 0, newLine: 0, oldLeft: 0, newLeft: 0 };
  const found: DiffLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const inHunk = position.oldLeft > 0 || position.newLeft > 0;
    const file = inHunk ? undefined : fileOf(line, lines[at + 1]);
    if (file !== undefined) at++;
    const head = inHunk ? null : hunkHead.exec(line);
    if (head !== null) {
      const [, oldLine, oldLeft = '1', newLine, newLeft = '1'] = head;
      Object.assign(position, {
        oldLine: Number(oldLine),
        newLine: Number(newLine),
        oldLeft: Number(oldLeft),
        newLeft: Number(newLeft),
      });
    }
    const isContent = inHunk && !line.startsWith('\\');
    found.push(file ?? (isContent ? numbered(toLine(line), position) : toLine(line)));
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
