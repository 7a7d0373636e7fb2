// The diff of a file, in colours, and with signs for users who cannot see them.
import { useState } from 'react';
import { useTexts } from '../../texts/texts.tsx';
import type { DiffLine } from './diff.ts';
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
  /** Always shows all lines, without a button to collapse them. */
  readonly expanded?: boolean;
}

export function DiffView({ lines, label, expanded = false }: DiffViewProps) {
  const { items } = useTexts();
  const [all, setAll] = useState(false);
  const shown = all || expanded ? lines : lines.slice(0, linesShown);
  return (
    <div className="output">
      <Scrollable className="diff" label={label}>
        {shown.map(({ kind, text }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and never move
          <span key={i} className={kind}>
            {signs[kind]}
            {text}
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
