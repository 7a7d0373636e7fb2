// Arranges the lines of a diff in two columns.
import type { DiffLine } from '../content/diff.ts';

/** Indexes of lines. Undefined: that side has no such line. */
export interface Pair {
  readonly left: number | undefined;
  readonly right: number | undefined;
}

export function sideBySide(lines: readonly DiffLine[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: number[] = [];
  let added: number[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++)
      pairs.push({ left: removed[i], right: added[i] });
    [removed, added] = [[], []];
  };
  lines.forEach(({ kind }, index) => {
    if (kind === 'removed') {
      // What was added before belongs to an earlier change.
      if (added.length > 0) flush();
      removed.push(index);
    } else if (kind === 'added') added.push(index);
    else {
      flush();
      pairs.push({ left: index, right: index });
    }
  });
  flush();
  return pairs;
}
