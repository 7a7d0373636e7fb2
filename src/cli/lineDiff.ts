// Two texts as a unified diff that `git apply` takes.

interface Edit {
  readonly kind: ' ' | '-' | '+';
  readonly line: string;
}

const contextLines = 3;
/** Lines that may come and go before the rest is told as one exchange: the work grows with its square. */
const editsMax = 1_000;

/** Lines with their line breaks, so that a missing last one counts. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The furthest places that each number of edits reaches, until the end is reached (Myers, 1986). */
function searchEdits(a: readonly string[], b: readonly string[]): Int32Array[] | undefined {
  const max = Math.min(editsMax, a.length + b.length);
  const furthest = new Int32Array(2 * max + 3);
  const trail: Int32Array[] = [];
  for (let edits = 0; edits <= max; edits++) {
    trail.push(furthest.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const at = k + max + 1;
      const down = k === -edits || (k !== edits && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0));
      let x = down ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[at] = x;
      if (x >= a.length && x - k >= b.length) return trail;
    }
  }
  return undefined;
}

function walkBack(a: readonly string[], b: readonly string[], trail: readonly Int32Array[]): Edit[] {
  const edits: Edit[] = [];
  const middle = Math.min(editsMax, a.length + b.length) + 1;
  let [x, y] = [a.length, b.length];
  for (let count = trail.length - 1; count >= 0; count--) {
    const furthest = trail[count] as Int32Array;
    const k = x - y;
    const at = k + middle;
    const down = k === -count || (k !== count && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0));
    const fromX = count === 0 ? 0 : (furthest[down ? at + 1 : at - 1] ?? 0);
    const fromY = count === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    const [startX, startY] = count === 0 ? [0, 0] : down ? [fromX, fromY + 1] : [fromX + 1, fromY];
    while (x > startX && y > startY) {
      edits.push({ kind: ' ', line: a[--x] ?? '' });
      y--;
    }
    if (count === 0) break;
    if (down) edits.push({ kind: '+', line: b[--y] ?? '' });
    else edits.push({ kind: '-', line: a[--x] ?? '' });
  }
  return edits.reverse();
}

function editsBetween(a: readonly string[], b: readonly string[]): Edit[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end++;
  const [oldPart, newPart] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const trail = searchEdits(oldPart, newPart);
  const same = (line: string): Edit => ({ kind: ' ', line });
  const changed: Edit[] =
    trail === undefined
      ? [
          ...oldPart.map((line): Edit => ({ kind: '-', line })),
          ...newPart.map((line): Edit => ({ kind: '+', line })),
        ]
      : walkBack(oldPart, newPart, trail);
  return [...a.slice(0, start).map(same), ...changed, ...a.slice(a.length - end).map(same)];
}

/** From the first edit of each piece to its last, with what is around. */
function pieces(edits: readonly Edit[]): [number, number][] {
  const found: [number, number][] = [];
  edits.forEach(({ kind }, i) => {
    if (kind === ' ') return;
    const last = found.at(-1);
    const [from, to] = [Math.max(0, i - contextLines), Math.min(edits.length, i + 1 + contextLines)];
    if (last !== undefined && from <= last[1]) last[1] = to;
    else found.push([from, to]);
  });
  return found;
}

function writePiece(edits: readonly Edit[], [from, to]: [number, number]): string {
  const count = (part: readonly Edit[], not: string) => part.filter(({ kind }) => kind !== not).length;
  const [before, piece] = [edits.slice(0, from), edits.slice(from, to)];
  const span = (not: '+' | '-') => {
    const lines = count(piece, not);
    return `${count(before, not) + (lines === 0 ? 0 : 1)},${lines}`;
  };
  const lines = piece.map(({ kind, line }) =>
    line.endsWith('\n') ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`,
  );
  return `@@ -${span('+')} +${span('-')} @@\n${lines.join('')}`;
}

interface FileChange {
  readonly path: string;
  readonly status: 'A' | 'M' | 'D';
  readonly original: string;
  readonly modified: string;
}

/** Names with odd characters are quoted as git does. */
function quoted(path: string): string {
  if (!/[\p{Cc}"\\]/u.test(path)) return path;
  const bytes = [...Buffer.from(path)].map((byte) =>
    byte < 0x20 || byte === 0x22 || byte === 0x5c || byte >= 0x7f
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  );
  return `"${bytes.join('')}"`;
}

export function unifiedDiff({ path, status, original, modified }: FileChange): string {
  const edits = editsBetween(linesOf(original), linesOf(modified));
  const [a, b] = [quoted(`a/${path}`), quoted(`b/${path}`)];
  const mode = { A: 'new file mode 100644\n', D: 'deleted file mode 100644\n', M: '' }[status];
  const body = pieces(edits).map((piece) => writePiece(edits, piece));
  const names = `--- ${status === 'A' ? '/dev/null' : a}\n+++ ${status === 'D' ? '/dev/null' : b}\n`;
  return `diff --git ${a} ${b}\n${mode}${body.length === 0 ? '' : names}${body.join('')}`;
}
