// A database that was opened through a proxy, with its own connections already established, so that a test cuts only
// its own.
import { openConfiguredDatabase } from '../../src/database.ts';
import type { Database } from '../../src/db/transaction.ts';
import { createStorage, type TestStorage } from './databases.ts';
import { type PostgresProxy, type Rule, startPostgresProxy, type Verdict } from './postgresProxy.ts';
import { until } from './until.ts';

interface Test {
  after(fn: () => Promise<void>): void;
}

export interface Proxied {
  readonly storage: TestStorage;
  readonly proxy: PostgresProxy;
  readonly database: Database;
}

export async function openThroughProxy(t: Test, existing?: TestStorage): Promise<Proxied> {
  const storage = existing ?? (await createStorage('postgres'));
  if (existing === undefined) t.after(storage.remove);
  const proxy = await startPostgresProxy(storage.databaseUrl ?? '', t);
  let listens = false;
  proxy.rule(({ name, text }) => {
    listens ||= name === 'CommandComplete' && text === 'LISTEN';
    return 'pass';
  });
  const database = await openConfiguredDatabase({ ...storage, databaseUrl: proxy.url }, (error) => {
    throw error;
  });
  t.after(() => database.close());
  await until('it listens for notifications', () => listens);
  proxy.release();
  return { storage, proxy, database };
}

/** A rule for the first matching message; `seen` reports whether it came. */
export function once(matches: (message: Parameters<Rule>[0]) => boolean, verdict: Verdict) {
  let seen = false;
  const rule: Rule = (message) => {
    if (seen || !matches(message)) return 'pass';
    seen = true;
    return verdict;
  };
  return { rule, seen: () => seen };
}

/** Drops the response to the COMMIT of the first transaction with such a statement. */
export function cutCommitOf(statement: RegExp) {
  /** Connections in the middle of such a transaction. */
  const marked = new Set<number>();
  let seen = false;
  const rule: Rule = ({ name, text, connection }) => {
    if (name === 'Bind' && statement.test(text)) marked.add(connection);
    if (seen || name !== 'CommandComplete' || text !== 'COMMIT' || !marked.delete(connection)) return 'pass';
    seen = true;
    return 'cut';
  };
  return { rule, seen: () => seen };
}
