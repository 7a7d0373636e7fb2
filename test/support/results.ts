// The results of a group of tests, whose shards run in several processes: each writes its own, and `test/run.ts` prints
// the sum.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const slowestShown = 5;

interface Timed {
  readonly name: string;
  readonly ms: number;
}

export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly slowest: readonly Timed[];
  /** How long the tests of each file took together. */
  readonly files: readonly Timed[];
}

export function slowestOf(timed: readonly Timed[]): readonly Timed[] {
  return timed.toSorted((a, b) => b.ms - a.ms).slice(0, slowestShown);
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
  const list = (timed: readonly Timed[]) =>
    slowestOf(timed)
      .map(({ name, ms }) => `  ${Math.round(ms)} ms  ${name}\n`)
      .join('');
  const tests = list(all.flatMap(({ slowest }) => slowest));
  const files = list(all.flatMap(({ files }) => files));
  return `\nslowest files:\n${files}slowest tests:\n${tests}\n${counts.join(', ')}\n`;
}
