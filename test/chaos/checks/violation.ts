// What a check finds, and how many facts it looked at.
import type { Operation } from '../history.ts';

export interface Violation {
  readonly kind: string;
  readonly sentence: string;
  /** The operations that show it. */
  readonly operations: readonly Operation[];
}

export interface Findings {
  /** Counts one fact that was looked at; where it does not hold it is a violation. */
  expect(holds: boolean, kind: string, sentence: () => string, operations?: readonly Operation[]): void;
  readonly checks: () => number;
  readonly violations: Violation[];
}

export function createFindings(): Findings {
  const violations: Violation[] = [];
  let checks = 0;
  return {
    expect: (holds, kind, sentence, operations = []) => {
      checks += 1;
      if (!holds) violations.push({ kind, sentence: sentence(), operations });
    },
    checks: () => checks,
    violations,
  };
}
