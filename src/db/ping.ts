// Whether the database answers, and whether it can be written to.
import { sql } from 'kysely';
import { read, repeatableWrite, rows } from './transaction.ts';

export const ping = read('db.ping', function* (q, _: null) {
  yield* rows(q.build.selectNoFrom(sql<number>`1`.as('one')));
});

/** Commits something small: it fails where the disk is full or the file read-only. */
export const touch = repeatableWrite('db.touch', function* (q, _: null) {
  const value = { value: 'x' };
  yield* rows(
    q.build
      .insertInto('facts')
      .values({ name: 'touched', ...value })
      .onConflict((c) => c.column('name').doUpdateSet(value)),
  );
});
