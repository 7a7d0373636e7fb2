// The results of a group of tests, whose shards run in several processes: each writes its own, and `test/run.ts` prints
// the sum.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const slowestShown = 5;

export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly slowest: readonly { readonly name: string; readonly ms: number }[];
}

export function slowestOf(tests: Results['slowest']): Results['slowest'] {
  return tests.toSorted((a, b) => b.ms - a.ms).slice(0, slowestShown);
}

/** The results of all processes that have written theirs. */
export function readResults(folder: string): Results[] {
  return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
}

export function summarize(all: readonly Results[]): string {
  const sum = (count: (results: Results) => number) => all.reduce((total, one) => total + count(one), 0);
  const counts = [
    `${sum(({ passed }) => passed)} passed`,
    `${sum(({ failed }) => failed)} failed`,
    `${sum(({ skipped }) => skipped)} skipped`,
  ];
  const lines = slowestOf(all.flatMap(({ slowest }) => slowest)).map(
    ({ name, ms }) => `  ${Math.round(ms)} ms  ${name}\n`,
  );
  return `\nslowest:\n${lines.join('')}\n${counts.join(', ')}\n`;
}
