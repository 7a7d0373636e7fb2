// Counts the conversations that run and those that wait for a worker. The counts stop at a bound, so that reading metrics
// is cheap whatever the backlog is.
import { sql } from 'kysely';
import { one, type Queries, read, type Steps } from '../../db/transaction.ts';
import type { Backlog } from '../../metrics/serviceMetrics.ts';

const countMax = 100_000;

function* countRunning(q: Queries): Steps<number> {
  const running = q.build
    .selectFrom('conversations')
    .select('key')
    .where('run_id', 'is not', null)
    .limit(countMax)
    .as('running');
  const found = yield* one(q.build.selectFrom(running).select((e) => e.fn.countAll<number>().as('count')));
  return Number(found?.count ?? 0);
}

export const readBacklog = read('conversations.readBacklog', function* (q: Queries, _: null): Steps<Backlog> {
  const waiting = q.build
    .selectFrom('conversations')
    .select('updated_at')
    .where('run_id', 'is', null)
    // Written like the condition of the partial index, so that the index is used.
    .where(sql<boolean>`status <> 'STOPPED'`)
    .limit(countMax)
    .as('waiting');
  const found = yield* one(
    q.build
      .selectFrom(waiting)
      .select((e) => [
        e.fn.countAll<number>().as('count'),
        sql<number | null>`${q.now} - min(waiting.updated_at)`.as('ms'),
      ]),
  );
  return {
    running: yield* countRunning(q),
    waiting: Number(found?.count ?? 0),
    waitingMs: Math.max(0, Number(found?.ms ?? 0)),
  };
});

export const backlogTransactions = [readBacklog];
