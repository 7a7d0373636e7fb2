// The output of a program, shortened until the user wants all of it.
import { useMemo } from 'react';
import { Code } from '../../code/Code.tsx';
import { visibleOutput } from '../../components/visibleText.ts';
import { useTexts } from '../../texts/texts.tsx';
import { FileText } from './FileText.tsx';
import { useItemFlag } from './itemFlags.ts';
import { Scrollable } from './Scrollable.tsx';

const linesShown = 12;
const charsShown = 2_000;

/** The built-in agent writes this where output was too long to keep. */
const truncated = /^\[… \d+ characters left out here/m;

/** Keeps the end of a command's output, and the start of everything else. */
function shorten(text: string, end: boolean): string {
  const lines = text.split('\n');
  const shown = (end ? lines.slice(-linesShown) : lines.slice(0, linesShown)).join('\n');
  return end ? shown.slice(-charsShown) : shown.slice(0, charsShown);
}

interface OutputProps {
  readonly text: string;
  readonly label: string;
  /** Shortened text keeps its end, not its start. */
  readonly end?: boolean;
  /** Always shows the whole text, without a button to collapse it. */
  readonly expanded?: boolean;
  /** The file whose text it is. */
  readonly path?: string | undefined;
  readonly language?: string | undefined;
}

export function Output({ text, label, end = false, expanded = false, path, language }: OutputProps) {
  const { items } = useTexts();
  const [expandedByUser, setExpandedByUser] = useItemFlag(label);
  const whole = useMemo(() => visibleOutput(text).trimEnd(), [text]);
  const short = shorten(whole, end);
  const isExpanded = expandedByUser || expanded;
  const shown = isExpanded ? whole : short;
  const isCollapsible = short.length < whole.length && !expanded;
  const labelOf = truncated.test(whole) ? items.showTruncated : items.showAll;
  const toggle = isCollapsible ? (
    <button type="button" className="expand-button" onClick={() => setExpandedByUser(!isExpanded)}>
      {isExpanded ? items.showLess : labelOf(whole.split('\n').length)}
    </button>
  ) : null;
  return (
    <div className="output">
      {end ? toggle : null}
      <Scrollable label={label}>
        {path === undefined ? (
          <Code text={shown} language={language} />
        ) : (
          <FileText text={shown} path={path} />
        )}
      </Scrollable>
      {end ? null : toggle}
    </div>
  );
}
