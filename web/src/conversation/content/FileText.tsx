// The text of a file that an agent has read. Some agents number its lines, which are then not part of the code.
import { useMemo } from 'react';
import { renderSegments } from '../../code/Code.tsx';
import { useTokens } from '../../code/highlighting.ts';
import { segmentsByLine } from '../../code/tokens.ts';

const numbered = /^( *\d+[\t→])(.*)$/s;

interface NumberedLine {
  readonly number: string;
  readonly text: string;
}

/** Lines without a number, such as a note of the agent at the end, are kept as they are. */
export function splitNumbers(text: string): NumberedLine[] {
  const lines = text.split('\n');
  const hasNumbers = numbered.test(lines[0] ?? '');
  return lines.map((line) => {
    const [, number = '', rest = line] = (hasNumbers ? numbered.exec(line) : undefined) ?? [];
    return { number, text: rest };
  });
}

export function FileText({ text, path }: { readonly text: string; readonly path: string }) {
  const lines = useMemo(() => splitNumbers(text), [text]);
  const code = useMemo(() => lines.map((line) => line.text).join('\n'), [lines]);
  const tokens = useTokens(code, { path });
  return useMemo(() => {
    const segments = segmentsByLine(code, tokens);
    return lines.map(({ number }, i) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and never move
      <span key={i}>
        {number === '' ? null : <span className="line-number">{number}</span>}
        {renderSegments(segments[i] ?? [])}
        {i < lines.length - 1 ? '\n' : null}
      </span>
    ));
  }, [lines, code, tokens]);
}
