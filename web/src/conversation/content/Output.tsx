// The output of a program, shortened until the user wants all of it.
import { useMemo } from 'react';
import { visibleOutput } from '../../components/visibleText.ts';
import { useTexts } from '../../texts/texts.tsx';
import { useUnfolded } from '../unfolded.ts';
import { Scrollable } from './Scrollable.tsx';

const linesShown = 12;
const charsShown = 2_000;

/** Agents write this in place of output that was too long to keep. */
const leftOut = /^\[… \d+ characters left out here/m;

/** Keeps the end of a command's output, and the start of everything else. */
function cut(text: string, end: boolean): string {
  const lines = text.split('\n');
  const some = end ? lines.slice(-linesShown) : lines.slice(0, linesShown);
  const shown = some.join('\n');
  return end ? shown.slice(-charsShown) : shown.slice(0, charsShown);
}

interface OutputProps {
  readonly text: string;
  readonly label: string;
  readonly end?: boolean;
  /** Always shows the whole text. */
  readonly unfolded?: boolean;
}

export function Output({ text, label, end = false, unfolded = false }: OutputProps) {
  const { items } = useTexts();
  const [wanted, setAll] = useUnfolded(label);
  const whole = useMemo(() => visibleOutput(text).trimEnd(), [text]);
  const some = cut(whole, end);
  const all = wanted || unfolded;
  const long = some.length < whole.length && !unfolded;
  const count = leftOut.test(whole) ? items.showKept : items.showAll;
  const toggle = long ? (
    <button type="button" className="fold" onClick={() => setAll(!all)}>
      {all ? items.showLess : count(whole.split('\n').length)}
    </button>
  ) : null;
  return (
    <div className="output">
      {end ? toggle : null}
      <Scrollable label={label}>{all ? whole : some}</Scrollable>
      {end ? null : toggle}
    </div>
  );
}
