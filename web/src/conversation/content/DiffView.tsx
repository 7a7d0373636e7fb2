// The diff of a file, in colours, and with signs for users who cannot see them.
import { useMemo } from 'react';
import { useTexts } from '../../texts/texts.tsx';
import type { DiffLine } from './diff.ts';
import { useDiffText } from './diffText.tsx';
import { useItemFlag } from './itemFlags.ts';
import { Scrollable } from './Scrollable.tsx';

const signs: Readonly<Record<DiffLine['kind'], string>> = {
  added: '+',
  removed: '-',
  same: ' ',
  hunk: '',
  file: '',
};
const linesShown = 40;

interface DiffViewProps {
  readonly lines: readonly DiffLine[];
  readonly label: string;
  /** The file, which tells the language. Without it, the text has no colours. */
  readonly path?: string | undefined;
  /** Always shows all lines, without a button to collapse them. */
  readonly expanded?: boolean;
}

/** The numbers of a line before and after the change. They are drawn, not text, so that they are not copied. */
export function gutterOf({ oldLine, newLine }: DiffLine, width: number): string {
  const column = (line: number | undefined) => String(line ?? '').padStart(width);
  return `${column(oldLine)} ${column(newLine)}`;
}

export function gutterWidth(lines: readonly DiffLine[]): number {
  const last = lines.findLast(({ oldLine, newLine }) => oldLine !== undefined || newLine !== undefined);
  return String(Math.max(last?.oldLine ?? 0, last?.newLine ?? 0)).length;
}

export function DiffView({ lines, label, path, expanded = false }: DiffViewProps) {
  const { items } = useTexts();
  const [all, setAll] = useItemFlag(`diff ${label}`);
  const isWhole = all || expanded;
  const shown = useMemo(() => (isWhole ? lines : lines.slice(0, linesShown)), [lines, isWhole]);
  const texts = useDiffText(shown, expanded ? undefined : path);
  const width = gutterWidth(lines);
  return (
    <div className="output">
      <Scrollable className="diff" label={label}>
        {shown.map((line, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and never move
          <span key={i} className={line.kind} data-gutter={width > 1 ? gutterOf(line, width) : undefined}>
            {signs[line.kind] === '' ? null : <span className="sign">{signs[line.kind]}</span>}
            {texts[i]}
            {'\n'}
          </span>
        ))}
      </Scrollable>
      {lines.length > linesShown && !expanded ? (
        <button type="button" className="expand-button" onClick={() => setAll(!all)}>
          {all ? items.showLess : items.showAll(lines.length)}
        </button>
      ) : null}
    </div>
  );
}
