// Reads PostgreSQL in one transaction of the isolation level REPEATABLE READ, whose queries all see the same moment.
import { endWithin, GuardedClient } from '../../db/postgresClient.ts';
import { RefusalError } from '../../errors.ts';
import { type Column, columnType, quoteName, type TableName, toLine, type Value } from '../tables.ts';
import { checkKnown, type DatabaseSource, pieceChars, type RowPiece } from './source.ts';

const connectTimeoutMs = 5_000;
const keepAliveMs = 10_000;
const rowsFirst = 50;
/** A row is often a kilobyte, and rarely much more. */
const rowsMax = 1_000;
/** How much one answer should hold. */
const answerChars = 1_048_576;

export async function connectForBackup(url: string): Promise<GuardedClient> {
  const client = new GuardedClient({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: 'parley backup',
  });
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { message, code } = error as { message?: string; code?: string };
    throw new RefusalError(`PostgreSQL at DATABASE_URL is not available: ${message || code}.`);
  }
}

const columnsQuery = `
  select column_name as name, data_type as type from information_schema.columns
  where table_schema = current_schema() and table_name = $1
  order by ordinal_position`;

const keysQuery = `
  select a.attname as name, t.typname as type
  from pg_index i
  cross join lateral unnest(i.indkey) with ordinality as k (attnum, place)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  join pg_type t on t.oid = a.atttypid
  where i.indisprimary and i.indrelid = to_regclass(quote_ident($1))
  order by k.place`;

/** The driver returns large integers as text. */
function toValue(value: unknown, { type }: Column): Value {
  if (type === 'text' || value === null) return value as Value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

export async function openPostgresSource(url: string): Promise<DatabaseSource> {
  const client = await connectForBackup(url);
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= endWithin(client.end(), [client]));

  async function select<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await client.query(text, values)).rows as Row[];
  }

  async function* read(table: TableName, columns: readonly Column[]): AsyncGenerator<RowPiece> {
    const keys = await select<Column>(keysQuery, [table]);
    // The order of bytes, as in SQLite, whatever the language of the database.
    const order = keys.map(({ name, type }) => `${quoteName(name)}${type === 'text' ? ' collate "C"' : ''}`);
    await client.query(
      `declare parley_rows no scroll cursor for select ${columns.map(({ name }) => quoteName(name)).join(', ')}
       from ${quoteName(table)} order by ${order.join(', ')}`,
    );
    let [lines, rows, wanted] = ['', 0, rowsFirst];
    for (;;) {
      const text = `fetch ${wanted} from parley_rows`;
      const { rows: found } = await client.query<Value[]>({ text, rowMode: 'array' });
      let chars = 0;
      for (const row of found) {
        const line = toLine(row.map((value, i) => toValue(value, columns[i] as Column)));
        chars += line.length;
        lines += line;
        rows += 1;
      }
      if (lines.length >= pieceChars || (found.length < wanted && rows > 0)) {
        yield { lines, rows };
        [lines, rows] = ['', 0];
      }
      if (found.length < wanted) break;
      wanted = Math.max(1, Math.min(rowsMax, wanted * 2, Math.floor((answerChars * found.length) / chars)));
    }
    await client.query('close parley_rows');
  }

  try {
    await client.query(
      'begin isolation level repeatable read read only; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0',
    );
    const [migrated] = await select<{ there: boolean }>(
      "select to_regclass('migrations') is not null as there",
    );
    if (!migrated?.there)
      throw new RefusalError(
        'The database at DATABASE_URL has no tables of Parley: there is nothing to back up.',
      );
    const migrations = (
      await select<{ name: string }>('select name from migrations order by name collate "C"')
    ).map(({ name }) => name);
    checkKnown(migrations);
    return {
      kind: 'postgres',
      migrations,
      columnsOf: async (table) => {
        const found = await select<{ name: string; type: string }>(columnsQuery, [table]);
        return found.length === 0
          ? undefined
          : found.map(({ name, type }) => ({ name, type: columnType(type) }));
      },
      read,
      lastNumberOf: async (table, column) => {
        const [found] = await select<{ last: string }>(
          `select greatest(coalesce(max(${quoteName(column)}), 0),
             coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass), 0)) as last from ${quoteName(table)}`,
          [table, column],
        );
        return Number(found?.last ?? 0);
      },
      findFact: async (name) => {
        const [found] = await select<{ value: string }>('select value from facts where name = $1', [name]);
        return found?.value;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
