import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openConfiguredDatabase } from '../../src/database.ts';
import { tryWrite } from '../../src/db/writability.ts';
import { createPlace, postgresUrl, withPostgres } from '../support/databases.ts';
import { startPostgresProxy } from '../support/postgresProxy.ts';

function terminate(pid: number): Promise<unknown> {
  return withPostgres(postgresUrl('postgres'), (client) =>
    client.query('select pg_terminate_backend($1)', [pid]),
  );
}

async function openThroughProxy(t: { after(fn: () => Promise<void>): void }) {
  const place = await createPlace('postgres');
  t.after(place.remove);
  const proxy = await startPostgresProxy(place.databaseUrl ?? '', t);
  const database = await openConfiguredDatabase({ ...place, databaseUrl: proxy.url }, (error) => {
    throw error;
  });
  t.after(() => database.close());
  return { place, proxy, database };
}

describe('a PostgreSQL session', { timeout: 60_000 }, () => {
  it('may be terminated in the packet that greets the client, and the process goes on', async (t) => {
    const { proxy, database } = await openThroughProxy(t);
    let joined = 0;
    const terminated = new Set<number>();
    let pid = 0;
    proxy.rule((message) => {
      if (message.name === 'BackendKeyData') pid = message.pid;
      if (message.name !== 'ReadyForQuery' || terminated.has(message.connection)) return 'pass';
      terminated.add(message.connection);
      joined += 1;
      void terminate(pid);
      return 'join';
    });
    await Promise.allSettled(Array.from({ length: 20 }, () => database.run(tryWrite, 0)));
    assert.ok(joined > 0);
    proxy.release();
    await database.run(tryWrite, 0);
  });
});
