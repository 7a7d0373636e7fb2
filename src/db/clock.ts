// The clock of the database, which all processes share.
import { one, type Queries, type Steps } from './transaction.ts';

/** In milliseconds since 1970. */
export function* readNow(q: Queries): Steps<number> {
  return Number((yield* one(q.build.selectNoFrom([q.now.as('now')])))?.now);
}
