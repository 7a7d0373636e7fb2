// The results of a part of the benchmark, and how they are printed: Markdown tables, and a verdict for each required
// figure. A figure that is missed or not measured is printed like any other.

export type Verdict = 'reached' | 'missed' | 'not measured';

export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly target: string;
  readonly verdict: Verdict;
}

export interface Table {
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly note?: string;
}

export interface PartReport {
  readonly tables: readonly Table[];
  readonly figures: readonly Figure[];
}

export function joinReports(reports: readonly PartReport[]): PartReport {
  return {
    tables: reports.flatMap(({ tables }) => tables),
    figures: reports.flatMap(({ figures }) => figures),
  };
}

type Show = (value: number) => string;

export const whole: Show = (value) => Math.round(value).toLocaleString('en-US');
export const decimals = (count: number): Show => {
  return (value) => (Number.isNaN(value) ? '–' : value.toFixed(count));
};
export const megabytes: Show = (bytes) => `${Math.round(bytes / 1e6)} MB`;

export function atLeast(name: string, measured: number, target: number, show: Show): Figure {
  const verdict = measured >= target ? 'reached' : 'missed';
  return { name, measured: show(measured), target: `≥ ${show(target)}`, verdict };
}

export function atMost(name: string, measured: number, target: number, show: Show): Figure {
  const verdict = measured <= target ? 'reached' : 'missed';
  return { name, measured: show(measured), target: `≤ ${show(target)}`, verdict };
}

export function notMeasured(name: string, target: string, reason: string): Figure {
  return { name, measured: reason, target, verdict: 'not measured' };
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

export function printTable({ title, heads, rows, note }: Table): string {
  const rule = heads.map((_, i) => (i === 0 ? '---' : '---:'));
  const body = [heads, rule, ...rows].map(line).join('');
  return `\n### ${title}\n\n${body}${note === undefined ? '' : `\n${note}\n`}`;
}

export function printFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, measured, target, verdict }) => [name, measured, target, verdict]);
  const count = (verdict: Verdict) => figures.filter((figure) => figure.verdict === verdict).length;
  return printTable({
    title: 'Figures',
    heads: ['figure', 'measured', 'target', 'verdict'],
    rows,
    note: `${count('reached')} reached, ${count('missed')} missed, ${count('not measured')} not measured.`,
  });
}
