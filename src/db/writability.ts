// Whether the database stores what it is given: known from the latest write, or from one that is made to find out.
import { AppError } from '../errors.ts';
import { type Database, repeatableWrite, rows } from './transaction.ts';

/** A write that succeeded vouches for the database this long. */
const trustedMs = 5_000;
/** A failure stands for all writes this long. */
const retryMs = 1_000;
/** More than the free room of any page, so that a file that cannot grow shows. */
const trialBytes = 65_536;

/** Stores so many bytes in place of those that the last one stored. */
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
  /** Throws the error that writers get where nothing can be stored. Writes at most once a second. */
  checkWritable(): Promise<void>;
}

/** Returns the database with its writes watched. */
export function watchWrites(
  database: Database,
  now: () => number = () => performance.now(),
): WatchedDatabase {
  let latest: { readonly at: number; readonly error: AppError | undefined } | undefined;
  let trial: Promise<void> | undefined;

  /** After a failure only a trial shows that all is well: on a full disk small writes still find room in the file. */
  function succeeded(): void {
    const error = latest?.error;
    latest = error === undefined ? { at: now(), error } : { at: Number.NEGATIVE_INFINITY, error };
  }

  /** Other failures, such as too many writers, say nothing about the database. */
  function failed(error: unknown): void {
    if (error instanceof AppError && error.code === 'database_unavailable') latest = { at: now(), error };
  }

  const run: Database['run'] = (transaction, input, options) => {
    const done = database.run(transaction, input, options);
    // A database that cannot be read will not store either; one that can be read says nothing about writes.
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
