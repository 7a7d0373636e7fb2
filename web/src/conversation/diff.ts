// Differences of texts as lines to draw: of a diff in the log, or between two versions of a file.
import { diffLines, hunksText } from '../../../src/text/lineDiff.ts';
import { visibleText } from '../components/visibleText.ts';
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

/** Undefined where the two lines do not name a file. */
function fileOf(before: string, after = ''): DiffLine | undefined {
  if (!before.startsWith('--- ') || !after.startsWith('+++ ')) return undefined;
  const names = [before, after].map((line) => line.slice(4)).filter((name) => name !== noFile);
  return { kind: 'file', text: visibleText([...new Set(names.map(shortPath))].join(' → ')) };
}

/** Every line of a unified diff. What is a line of a file and what is not, the counts of each piece say. */
function readLines(diff: string): DiffLine[] {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const left = { old: 0, now: 0 };
  const found: DiffLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const inPiece = left.old > 0 || left.now > 0;
    const file = inPiece ? undefined : fileOf(line, lines[at + 1]);
    if (file !== undefined) at++;
    const [head, old = '1', now = '1'] = (inPiece ? undefined : hunkHead.exec(line)) ?? [];
    if (head !== undefined) Object.assign(left, { old: Number(old), now: Number(now) });
    else if (inPiece && !line.startsWith('\\')) {
      if (!line.startsWith('+')) left.old--;
      if (!line.startsWith('-')) left.now--;
    }
    found.push(file ?? toLine(line));
  }
  return found;
}

/** The lines of a unified diff, with the names of its files unless there is one, which is the one that is shown. */
export function readDiff(diff: string, shown?: string): DiffLine[] {
  const lines = readLines(diff);
  const names = lines.filter(({ kind }) => kind === 'file');
  const isTold = names.length === 1 && names[0]?.text === shown;
  return isTold ? lines.filter(({ kind }) => kind !== 'file') : lines;
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
