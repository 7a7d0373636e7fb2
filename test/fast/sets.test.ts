// PostgreSQL runs calls in sets. Whatever meets in a set, the results and the rows are those of the same calls one after
// the other, in some order.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Database, Transaction } from '../../src/db/transaction.ts';
import { openTestDatabase } from '../support/databases.ts';
import { runCall, type SetCall, setCall } from '../support/setCalls.ts';
import { dumpTwin, prepareTwin, type Twin } from '../support/setTwins.ts';

const runs = 25;
const callsMax = 24;

type Stored = Awaited<ReturnType<typeof dumpTwin>>;

/** The calls that have appended events, in an order in which they can have happened. */
function effectiveCalls(stored: Stored): number[] {
  const { events } = stored as { events: { json: string }[] };
  const calls = events.flatMap(({ json }) => (JSON.parse(json) as { call?: number }).call ?? []);
  return [...new Set(calls)];
}

/**
 * An order that explains the results: calls with an effect in the order of the logs, a repeated step right after the
 * first one, then all calls that found something in their way.
 */
function orderOf(calls: readonly SetCall[], results: readonly unknown[], stored: Stored): number[] {
  const effective = effectiveCalls(stored);
  const rest = calls.map((_, n) => n).filter((n) => !effective.includes(n));
  const repeats = (n: number, first: number) => {
    const [a, b] = [calls[n], calls[first]];
    return (
      results[n] !== undefined &&
      a?.type === 'record' &&
      b?.type === 'record' &&
      a.isOwner &&
      a.user === b.user &&
      a.id === b.id &&
      a.step === b.step
    );
  };
  const ordered = effective.flatMap((first) => [first, ...rest.filter((n) => repeats(n, first))]);
  return [...ordered, ...rest.filter((n) => !ordered.includes(n))];
}

/** Results without the numbers that the two databases give out differently. */
function comparable({ keys }: Twin, result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  const { key, ...rest } = result as { key?: number };
  const known = Object.values(keys).flatMap((of) => Object.entries(of));
  return { ...rest, of: known.find(([, number]) => number === key)?.[0] ?? key !== undefined };
}

function runAlone(database: Database): Database['run'] {
  return <In, Out>({ set: _, ...transaction }: Transaction<In, Out>, input: In) =>
    database.run(transaction as Transaction<In, Out>, input);
}

describe('calls in sets', () => {
  it('have the results and rows of the same calls one after the other', async (t) => {
    const [together, alone] = [await openTestDatabase('postgres', t), await openTestDatabase('postgres', t)];
    let number = 0;
    const property = fc.asyncProperty(
      fc.array(setCall, { minLength: 1, maxLength: callsMax, size: 'max' }),
      // One conversation of each user waits at the start.
      fc.constantFrom(0, 2, 3),
      async (calls, waitingMax) => {
        number += 1;
        const first = await prepareTwin(together, number, waitingMax);
        const second = await prepareTwin(alone, number, waitingMax);
        const results = await Promise.all(
          calls.map((call, n) => runCall(first, first.database.run, call, n)),
        );
        const stored = await dumpTwin(first);
        const expected: unknown[] = [];
        for (const n of orderOf(calls, results, stored))
          expected[n] = await runCall(second, runAlone(second.database), calls[n] as SetCall, n);
        assert.deepEqual(
          results.map((result) => comparable(first, result)),
          expected.map((result) => comparable(second, result)),
        );
        assert.deepEqual(stored, await dumpTwin(second));
      },
    );
    await fc.assert(property, { numRuns: runs });
  });
});
