// Text that a program wrote, cut to a few lines until somebody wants all of it.
import { useMemo } from 'react';
import { visibleOutput } from '../components/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import { Scrollable } from './Scrollable.tsx';
import { useUnfolded } from './unfolded.ts';

const linesShown = 12;
const charsShown = 2_000;

/** As the agents say it where an output was too long to be kept. */
const leftOut = /^\[… \d+ characters left out here/m;

/** The end is what matters of a command, the start of all else. */
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
  /** Nobody has to ask for the rest of it. */
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
