// Fills a SQLite database with many conversations, quickly: copies of one that the store itself created.
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openConfiguredDatabase } from '../src/database.ts';
import type { TestStorage } from '../test/support/databases.ts';
import { createMakers, createMany } from './creations.ts';
import { fail } from './store.ts';

/** Every other id is by the service, the rest are random ids by clients. Eight are created per millisecond. */
const idExpression = `case when n.i % 2 = 0
    then printf('%012x7%03x', ?2 + n.i / 8, n.i % 4096) || lower(hex(randomblob(8)))
    else lower(hex(randomblob(16))) end`;

export function databaseFile({ dataDir }: TestStorage): string {
  return join(dataDir, 'parley.db');
}

function columns(connection: DatabaseSync, except: readonly string[]): string {
  return connection
    .prepare("select name from pragma_table_info('conversations')")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !except.includes(name))
    .join(', ');
}

/** Creates `count` conversations, each with its first events, and flushes them to the disk. */
export async function fillSqlite(storage: TestStorage, count: number): Promise<void> {
  const database = await openConfiguredDatabase(storage, fail);
  const { timeOrdered } = await createMakers(database);
  await createMany(database, timeOrdered, { inFlight: 1, more: (begun) => begun < 1 });
  await database.close();

  const file = databaseFile(storage);
  const connection = new DatabaseSync(file);
  connection.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1000000');
  const copied = columns(connection, ['key', 'id', 'created_at']);
  connection.exec('begin');
  connection
    .prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1)
      insert into conversations (id, created_at, ${copied})
      select ${idExpression}, ?2 + n.i / 8, ${copied} from n, conversations where key = 1`,
    )
    .run(count - 1, Date.now() - count);
  connection.exec(
    `insert into events (place, json)
      select (c.key << 32) | e.id, e.json from conversations c join event_log e on e.conversation_key = 1
      where c.key > 1 order by c.key, e.id`,
  );
  connection.exec('commit');
  connection.close();
  const fd = openSync(file, 'r+');
  fsyncSync(fd);
  closeSync(fd);
}
