// The text of the lines of a diff: code in colours, with the words marked that differ.
import { type ReactNode, useMemo } from 'react';
import { useTokens } from '../../code/highlighting.ts';
import { type Segment, segmentsByLine } from '../../code/tokens.ts';
import type { DiffLine } from './diff.ts';
import { markSegments, wordMarks } from './wordMarks.ts';

/** The text of one side. Lines of the other one, and heads, are empty, so that all lines keep their index. */
function sideOf(lines: readonly DiffLine[], other: DiffLine['kind']): string {
  return lines
    .map(({ kind, text }) => (kind === other || kind === 'hunk' || kind === 'file' ? '' : text))
    .join('\n');
}

function renderLine(segments: readonly Segment[], ranges: Parameters<typeof markSegments>[1]): ReactNode[] {
  return markSegments(segments, ranges).map(({ text, kind, isMarked }, i) => {
    const className = kind === undefined ? undefined : `code-${kind}`;
    if (isMarked)
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: segments have no id, and are replaced together
        <mark key={i} className={className}>
          {text}
        </mark>
      );
    return className === undefined ? (
      text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: segments have no id, and are replaced together
      <span key={i} className={className}>
        {text}
      </span>
    );
  });
}

/** Returns what to render for each line. `path` tells the language. */
export function useDiffText(lines: readonly DiffLine[], path: string | undefined): readonly ReactNode[] {
  const before = useMemo(() => sideOf(lines, 'added'), [lines]);
  const after = useMemo(() => sideOf(lines, 'removed'), [lines]);
  const hint = path === undefined ? undefined : { path };
  const oldTokens = useTokens(before, hint);
  const newTokens = useTokens(after, hint);
  return useMemo(() => {
    const old = segmentsByLine(before, oldTokens);
    const now = segmentsByLine(after, newTokens);
    const marks = wordMarks(lines);
    return lines.map(({ kind, text }, i) => {
      if (kind === 'hunk' || kind === 'file') return text;
      const segments = (kind === 'removed' ? old[i] : now[i]) ?? [];
      return renderLine(segments, marks.get(i) ?? []);
    });
  }, [lines, before, after, oldTokens, newTokens]);
}
