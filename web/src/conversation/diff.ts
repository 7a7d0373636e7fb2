// Differences between texts, line by line: read from a unified diff, or found between two versions of a file.

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk';
  readonly text: string;
}

const contextLines = 3;
/** Above it the changed part is shown as replaced whole: finding more would take too long. */
const cellsMax = 4_000_000;

/** The lines of a unified diff, without the names of the files. */
export function readDiff(diff: string): DiffLine[] {
  const kinds = { '+': 'added', '-': 'removed', ' ': 'same', '@': 'hunk' } as const;
  return diff.split('\n').flatMap((line): DiffLine[] => {
    if (line.startsWith('--- ') || line.startsWith('+++ ') || line.startsWith('\\')) return [];
    const kind = kinds[line[0] as keyof typeof kinds] ?? 'same';
    return [{ kind, text: kind === 'hunk' ? line : line.slice(1) }];
  });
}

const same = (text: string): DiffLine => ({ kind: 'same', text });
const added = (text: string): DiffLine => ({ kind: 'added', text });
const removed = (text: string): DiffLine => ({ kind: 'removed', text });

/** Lengths of the longest common subsequences of the ends from each pair of places on. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] =
        before[i] === after[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0);
    }
  return lengths;
}

function compareMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  if (before.length * after.length > cellsMax) return [...before.map(removed), ...after.map(added)];
  const lengths = commonLengths(before, after);
  const width = after.length + 1;
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    const at = i * width + j;
    if (before[i] === after[j]) {
      lines.push(same(before[i] ?? ''));
      i++;
      j++;
    } else if ((lengths[at + width] ?? 0) >= (lengths[at + 1] ?? 0)) lines.push(removed(before[i++] ?? ''));
    else lines.push(added(after[j++] ?? ''));
  }
  return [...lines, ...before.slice(i).map(removed), ...after.slice(j).map(added)];
}

function compareAll(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    ...before.slice(0, start).map(same),
    ...compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

function toLines(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

/** What changed, with a few lines around it; nothing where the texts are the same. */
export function compare(original: string, modified: string): DiffLine[] {
  const all = compareAll(toLines(original), toLines(modified));
  const near = new Uint8Array(all.length);
  for (const [i, { kind }] of all.entries())
    if (kind !== 'same') near.fill(1, Math.max(0, i - contextLines), i + contextLines + 1);
  const shown: DiffLine[] = [];
  let before = 0;
  let after = 0;
  for (const [i, line] of all.entries()) {
    if (near[i] === 1) {
      if (near[i - 1] !== 1) shown.push({ kind: 'hunk', text: `@@ -${before + 1} +${after + 1} @@` });
      shown.push(line);
    }
    if (line.kind !== 'added') before++;
    if (line.kind !== 'removed') after++;
  }
  return shown;
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  return {
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
  };
}
