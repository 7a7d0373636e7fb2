// Checks whether the database accepts writes, by the latest write or, if that is too old, by a trial write.
import { AppError } from '../errors.ts';
import { type Database, repeatableWrite, rows } from './transaction.ts';

/** After a successful write, the database counts as writable this long. */
const trustedMs = 5_000;
/** After a failed write, no new trial is made this long. */
const retryMs = 1_000;
/** Larger than a database page, so that the trial fails if the file cannot grow. */
const trialBytes = 65_536;

/** Stores this many bytes and replaces those of the previous trial. */
export const tryWrite = repeatableWrite('db.tryWrite', function* (q, bytes: number) {
  const value = { value: 'x'.repeat(bytes) };
  yield* rows(
    q.build
      .insertInto('facts')
      .values({ name: 'touched', ...value })
      .onConflict((c) => c.column('name').doUpdateSet(value)),
  );
});

export interface WatchedDatabase {
  readonly database: Database;
  /** Throws the error that writers would get if nothing can be stored. Makes at most one trial write a second. */
  checkWritable(): Promise<void>;
}

/** Wraps the database to observe the outcome of its writes. */
export function watchWrites(
  database: Database,
  now: () => number = () => performance.now(),
): WatchedDatabase {
  let latest: { readonly at: number; readonly error: AppError | undefined } | undefined;
  let trial: Promise<void> | undefined;

  /** After a failure only a trial write counts: on a full disk, small writes may still fit into the file. */
  function succeeded(): void {
    const error = latest?.error;
    latest = error === undefined ? { at: now(), error } : { at: Number.NEGATIVE_INFINITY, error };
  }

  /** Other errors, such as too many writers, do not mean that the database is broken. */
  function failed(error: unknown): void {
    if (error instanceof AppError && error.code === 'database_unavailable') latest = { at: now(), error };
  }

  const run: Database['run'] = (transaction, input, options) => {
    const done = database.run(transaction, input, options);
    // A failed read also means that writes fail; a successful read says nothing about writes.
    done.then(transaction.access === 'write' ? succeeded : undefined, failed);
    return done;
  };

  async function tryNow(): Promise<void> {
    await run(tryWrite, trialBytes);
    await run(tryWrite, 0);
    latest = { at: now(), error: undefined };
  }

  return {
    database: { ...database, run },
    checkWritable: async () => {
      const age = latest === undefined ? Number.POSITIVE_INFINITY : now() - latest.at;
      if (latest?.error !== undefined && age < retryMs) throw latest.error;
      if (latest?.error === undefined && age < trustedMs) return;
      trial ??= tryNow().finally(() => {
        trial = undefined;
      });
      await trial;
    },
  };
}
