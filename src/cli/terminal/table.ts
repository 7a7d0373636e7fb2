// Records as people and programs read them: aligned columns on a terminal, otherwise lines of JSON.
import type { Output } from './output.ts';
import { plainLine } from './plainText.ts';

/** To the minute. */
export function shortTime(time: string): string {
  return plainLine(time).slice(0, 16).replace('T', ' ');
}

export function formatTable(headings: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(plainLine));
  const widths = headings.map((heading, i) =>
    Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[line(headings), ...rows.map(line)].join('\n')}\n`;
}

interface Columns<Record> {
  readonly headings: readonly string[];
  readonly row: (record: Record) => readonly string[];
}

export function printRecords<Record extends object>(
  output: Output,
  records: readonly Record[],
  { headings, row }: Columns<Record>,
): void {
  if (output.isJson) for (const record of records) output.json(record);
  else output.text(formatTable(headings, records.map(row)));
}
