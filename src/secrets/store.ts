// The fact that proves a sealing key to be the right one, kept beside the data that it seals.
import { one, read, rows, write } from '../db/transaction.ts';

export const findFact = read('secrets.findFact', function* (q, name: string) {
  const found = yield* one(q.build.selectFrom('facts').select('value').where('name', '=', name));
  return found?.value;
});

/** Keeps the first value that anybody gives, and returns it. */
export const keepFact = write('secrets.keepFact', function* (q, fact: { name: string; value: string }) {
  yield* rows(
    q.build
      .insertInto('facts')
      .values(fact)
      .onConflict((c) => c.column('name').doNothing()),
  );
  const kept = yield* one(q.build.selectFrom('facts').select('value').where('name', '=', fact.name));
  return kept?.value ?? fact.value;
});

export const secretTransactions = [findFact, keepFact];
