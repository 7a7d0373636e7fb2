// What is stored of runs in terms of the clock, mended after the clock was set. All of it may be done twice.
import { one, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';

export const readClock = read('sweep.readClock', function* (q, _: null): Steps<number> {
  const row = yield* one(q.build.selectNoFrom([q.now.as('now')]));
  return Number(row?.now);
});

/**
 * Times of the past that lie in the future become now. With `all`, every run counts as active now: the clock was set,
 * and nobody knows for how long it has been idle.
 */
export const adjustRuns = repeatableWrite(
  'sweep.adjustRuns',
  function* (q, { all }: { all: boolean }): Steps<void> {
    const running = q.build.updateTable('conversations').where('run_id', 'is not', null);
    for (const column of ['active_at', 'claimed_at'] as const) {
      const set = running.set({ [column]: q.now }).where(column, 'is not', null);
      yield* rows(all ? set : set.where(column, '>', q.now));
    }
    // Tells how long it has waited for a worker.
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ updated_at: q.now })
        .where('status', '<>', 'STOPPED')
        .where('updated_at', '>', q.now),
    );
  },
);

export const clockTransactions = [readClock, adjustRuns];
