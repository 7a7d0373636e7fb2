// Looks into a database from outside, past all of our own code.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Place, withPostgres } from './databases.ts';

type Row = Record<string, unknown>;

/** Runs one statement without parameters on either database. */
export async function inspect(place: Pick<Place, 'dataDir' | 'databaseUrl'>, sql: string): Promise<Row[]> {
  if (place.databaseUrl !== undefined) {
    const result = await withPostgres(place.databaseUrl, (client) => client.query(sql));
    return result.rows as Row[];
  }
  const database = new DatabaseSync(join(place.dataDir, 'parley.db'), { timeout: 5_000 });
  try {
    return database.prepare(sql).all() as Row[];
  } finally {
    database.close();
  }
}

export async function countRows(place: Place, table: string): Promise<number> {
  const [row] = await inspect(place, `select count(*) as count from ${table}`);
  return Number(row?.['count']);
}
