// Records a backup that an operator has made, so that the metric of its age counts it. It does not migrate the database.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { endWithin } from '../db/postgresClient.ts';
import type { BackupPlaces, BackupResult } from './create.ts';
import { recordStatement } from './store.ts';

const busyTimeoutMs = 5_000;

export async function recordBackup(places: BackupPlaces, { head, bytes }: BackupResult): Promise<void> {
  const { text, values } = recordStatement({ startedAt: Date.parse(head.created_at), bytes });
  if (places.databaseUrl === undefined) {
    using database = new DatabaseSync(join(places.dataDir, 'parley.db'), { timeout: busyTimeoutMs });
    // SQLite takes `$1` for a name, and `?1` for a number.
    database.prepare(text.replaceAll('$', '?')).run(...values);
    return;
  }
  const { connectForBackup } = await import('./sources/postgresSource.ts');
  const client = await connectForBackup(places.databaseUrl);
  await client.query(text, values).finally(() => endWithin(client.end(), [client]));
}
