// Records as tables for people and as JSON lines for programs.

import { plainLine } from '../../text/plainText.ts';
import type { Output, Style } from './output.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const monthMs = 30 * dayMs;
const gap = 2;

/** The time to the minute, in UTC. */
export function shortTime(time: string): string {
  return plainLine(time).slice(0, 16).replace('T', ' ');
}

/** How long ago it was, or the date if that is more than a month. */
export function relativeTime(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  if (Number.isNaN(agoMs)) return shortTime(time);
  if (agoMs < minuteMs) return 'now';
  if (agoMs < hourMs) return `${Math.floor(agoMs / minuteMs)}m ago`;
  if (agoMs < dayMs) return `${Math.floor(agoMs / hourMs)}h ago`;
  return agoMs < monthMs ? `${Math.floor(agoMs / dayMs)}d ago` : shortTime(time).slice(0, 10);
}

const wide =
  /\p{RGI_Emoji}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/v;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

function graphemeWidth(grapheme: string): number {
  return wide.test(grapheme) ? 2 : 1;
}

/** How many columns of a terminal the text takes. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Cuts the text so that it takes at most so many columns, with an ellipsis if something is missing. */
export function fitText(text: string, widthMax: number): string {
  if (textWidth(text) <= widthMax) return text;
  let [fitted, width] = ['', 1];
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > widthMax) break;
    fitted += segment;
  }
  return widthMax < 1 ? '' : `${fitted}…`;
}

interface Column {
  readonly heading: string;
  /** How far the column may shrink while other columns can shrink, too. Default: not at all. */
  readonly widthMin?: number;
}

export interface Cell {
  readonly text: string;
  readonly format?: Parameters<Style>[0];
}

interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  readonly style: Style;
  /** The width of the terminal. */
  readonly widthMax: number;
}

/** Shrinks the last column first: each to its minimum and, if that is not enough, to its heading. */
function columnWidths({ columns, rows, widthMax }: Table): number[] {
  const widths = columns.map(({ heading }, i) =>
    Math.max(heading.length, ...rows.map((row) => textWidth(row[i]?.text ?? ''))),
  );
  let excess = widths.reduce((sum, width) => sum + width, gap * (columns.length - 1)) - widthMax;
  const shrink = (minimumOf: (column: Column) => number) => {
    for (const [i, column] of [...columns.entries()].reverse()) {
      const width = widths[i] ?? 0;
      if (excess <= 0 || column.widthMin === undefined) continue;
      const shrunk = Math.max(width - excess, Math.min(width, minimumOf(column)));
      widths[i] = shrunk;
      excess -= width - shrunk;
    }
  };
  shrink(({ widthMin, heading }) => widthMin ?? heading.length);
  shrink(({ heading }) => heading.length);
  return widths;
}

/** Formats a table whose lines fit the terminal, as far as its columns can shrink. */
export function formatTable({ columns, rows, style, widthMax }: Table): string {
  const clean = rows.map((row) => row.map((cell) => ({ ...cell, text: plainLine(cell.text) })));
  const widths = columnWidths({ columns, rows: clean, style, widthMax });
  const line = (cells: readonly Cell[]) =>
    cells
      .map(({ text, format }, i) => {
        const fitted = fitText(text, widths[i] ?? 0);
        const isLast = cells.slice(i + 1).every((cell) => cell.text === '');
        const padding = isLast ? '' : ' '.repeat((widths[i] ?? 0) - textWidth(fitted) + gap);
        return `${format === undefined || fitted === '' ? fitted : style(format, fitted)}${padding}`;
      })
      .join('')
      .trimEnd();
  const headings = columns.map(({ heading }): Cell => ({ text: heading, format: 'dim' }));
  return `${[headings, ...clean].map(line).join('\n')}\n`;
}

interface Columns<Record> {
  readonly headings: readonly string[];
  readonly row: (record: Record) => readonly string[];
}

/** Prints a table without cutting anything, or the records as JSON lines. */
export function printRecords<Record extends object>(
  output: Output,
  records: readonly Record[],
  { headings, row }: Columns<Record>,
): void {
  if (output.isJson) for (const record of records) output.json(record);
  else
    output.text(
      formatTable({
        columns: headings.map((heading) => ({ heading })),
        rows: records.map((record) => row(record).map((text) => ({ text }))),
        style: output.style,
        widthMax: Number.POSITIVE_INFINITY,
      }),
    );
}
