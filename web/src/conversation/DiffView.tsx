// Changes of a file, in colours, and with signs for those who do not see them.
import { useState } from 'react';
import { useTexts } from '../texts/texts.tsx';
import type { DiffLine } from './diff.ts';
import { Scrollable } from './Scrollable.tsx';

const signs: Readonly<Record<DiffLine['kind'], string>> = { added: '+', removed: '-', same: ' ', hunk: '' };
const linesShown = 40;

export function DiffView({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) {
  const { items } = useTexts();
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, linesShown);
  return (
    <div className="output">
      <Scrollable className="diff" label={label}>
        {shown.map(({ kind, text }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else, and never move
          <span key={i} className={kind}>
            {signs[kind]}
            {text}
            {'\n'}
          </span>
        ))}
      </Scrollable>
      {lines.length > linesShown ? (
        <button type="button" className="fold" onClick={() => setAll(!all)}>
          {all ? items.showLess : items.showAll(lines.length)}
        </button>
      ) : null}
    </div>
  );
}
