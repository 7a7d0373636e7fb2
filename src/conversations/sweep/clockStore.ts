// Repairs the stored times of runs after the clock was changed. Repeating it does no harm.
import { readNow } from '../../db/clock.ts';
import { read, repeatableWrite, rows, type Steps } from '../../db/transaction.ts';
import { reservedUntil } from '../reservation.ts';

export const readClock = read('sweep.readClock', function* (q, _: null): Steps<number> {
  return yield* readNow(q);
});

/**
 * Moves times that lie in the future to now. With `all`, every run counts as active now, because after a clock change
 * nobody knows how long it has been idle.
 */
export const adjustRuns = repeatableWrite(
  'sweep.adjustRuns',
  function* (q, { all }: { all: boolean }): Steps<void> {
    const running = q.build.updateTable('conversations').where('run_id', 'is not', null);
    for (const column of ['active_at', 'claimed_at', 'followed_at'] as const) {
      const set = running.set({ [column]: q.now }).where(column, 'is not', null);
      yield* rows(all ? set : set.where(column, '>', q.now));
    }
    // `updated_at` tells how long a conversation has waited for a worker.
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ updated_at: q.now })
        .where('status', '<>', 'STOPPED')
        .where('updated_at', '>', q.now),
    );
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ reserved_until: reservedUntil(q) })
        .where('run_id', 'is', null)
        .where('status', '<>', 'STOPPED')
        .where('reserved_for', '<>', '')
        .where('reserved_until', '>', reservedUntil(q)),
    );
  },
);

export const clockTransactions = [readClock, adjustRuns];
