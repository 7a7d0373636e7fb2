// Single values about the service as a whole, such as which process has a task that only one may do at a time.
import { sql } from 'kysely';
import { one, type Queries, rows, type Steps } from './transaction.ts';

export function* findFact(q: Queries, name: string): Steps<string | undefined> {
  return (yield* one(q.build.selectFrom('facts').select('value').where('name', '=', name)))?.value;
}

export function* storeFact(q: Queries, name: string, value: string): Steps<void> {
  yield* rows(
    q.build
      .insertInto('facts')
      .values({ name, value })
      .onConflict((c) => c.column('name').doUpdateSet({ value })),
  );
}

interface LockedFact {
  readonly value: string;
  /** The clock of the database, in milliseconds since 1970. */
  readonly now: number;
}

/** Locks a fact until the end of the transaction, and stores `initial` first if there is none. */
export function* lockFact(q: Queries, name: string, initial: string): Steps<LockedFact> {
  yield* rows(
    q.build
      .insertInto('facts')
      .values({ name, value: initial })
      .onConflict((c) => c.column('name').doNothing()),
  );
  const locked = yield* one(
    q.build
      .updateTable('facts')
      .set({ value: sql.ref('value') })
      .where('name', '=', name)
      .returning(['value', q.now.as('now')]),
  );
  return { value: locked?.value ?? initial, now: Number(locked?.now ?? 0) };
}
