// Whether the database answers.
import { sql } from 'kysely';
import { read, rows } from './transaction.ts';

export const ping = read('db.ping', function* (q, _: null) {
  yield* rows(q.build.selectNoFrom(sql<number>`1`.as('one')));
});
