// Reads a database directly, to check what is really stored.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type StorageLocation, type TestStorage, withPostgres } from './databases.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The rows of one query that both databases understand. Counts must be cast to integer. */
export async function inspect(storage: StorageLocation, text: string): Promise<Row[]> {
  if (storage.databaseUrl !== undefined)
    return withPostgres(storage.databaseUrl, async (client) => (await client.query<Row>(text)).rows);
  const file = join(storage.dataDir, 'parley.db');
  if (!existsSync(file)) throw new Error('there is no database yet');
  const database = new DatabaseSync(file, { timeout: 5_000 });
  try {
    return database.prepare(text).all() as Row[];
  } finally {
    database.close();
  }
}

export async function countRows(storage: TestStorage, table: string): Promise<number> {
  const [row] = await inspect(storage, `select count(*) as count from ${table}`);
  return Number(row?.['count']);
}

export async function storedTitles(storage: TestStorage): Promise<string[]> {
  const rows = await inspect(storage, 'select title from conversations order by title');
  return rows.map(({ title }) => String(title));
}

export interface StoredConversation {
  readonly id: string;
  readonly title: string;
  readonly next_event: number;
  /** How many events there are, and the ids of the first and the last. */
  readonly events: number;
  readonly first: number;
  readonly last: number;
}

export async function storedConversations(storage: TestStorage): Promise<StoredConversation[]> {
  const rows = await inspect(
    storage,
    `select c.id, c.title, cast(c.next_event as integer) as next_event, cast(count(e.id) as integer) as events,
       cast(min(e.id) as integer) as first, cast(max(e.id) as integer) as last
     from conversations c left join event_log e on e.conversation_key = c.key
     group by c.key, c.id, c.title, c.next_event`,
  );
  return rows as unknown as StoredConversation[];
}

/** Rows without a conversation, which would be half of a transaction. */
export async function countStrays(storage: TestStorage): Promise<number> {
  const [row] = await inspect(
    storage,
    `select cast((select count(*) from event_log where conversation_key not in (select key from conversations))
       + (select count(*) from idempotency where conversation_id not in (select id from conversations))
       as integer) as count`,
  );
  return Number(row?.['count']);
}
