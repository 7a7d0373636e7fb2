// Reads SQLite in one read transaction, which sees the moment of its first read and blocks no writer. SQLite's own backup
// call starts again whenever another connection commits, so that it may never end while the service works.
import { DatabaseSync } from 'node:sqlite';
import { type Column, columnType, quoteName, type TableName, toLine, type Value } from '../tables.ts';
import { checkKnown, type DatabaseSource, pieceChars, type RowPiece } from './source.ts';

const busyTimeoutMs = 5_000;

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
}

/** Larger integers, such as the places of events, cannot be read as numbers. */
function selected({ name, type }: Column): string {
  const quoted = quoteName(name);
  return type === 'text'
    ? quoted
    : `case when ${quoted} between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER} then ${quoted} else cast(${quoted} as text) end`;
}

/** Throws if the file is not a database of this schema or an older one. */
export function openSqliteSource(file: string): DatabaseSource {
  const database = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
  const infoOf = (table: TableName) =>
    database.prepare(`pragma table_info(${quoteName(table)})`).all() as unknown as ColumnRow[];

  function* readRows(table: TableName, columns: readonly Column[]): Generator<RowPiece> {
    const keys = infoOf(table)
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(({ name }) => quoteName(name));
    const statement = database.prepare(
      `select ${columns.map(selected).join(', ')} from ${quoteName(table)} order by ${keys.join(', ')}`,
    );
    statement.setReturnArrays(true);
    let [lines, rows] = ['', 0];
    for (const row of statement.iterate()) {
      lines += toLine(row as unknown as Value[]);
      rows += 1;
      if (lines.length < pieceChars) continue;
      yield { lines, rows };
      [lines, rows] = ['', 0];
    }
    if (rows > 0) yield { lines, rows };
  }

  try {
    database.exec('begin');
    const applied = database.prepare('select name from migrations order by name').all();
    const migrations = applied.map(({ name }) => String(name));
    checkKnown(migrations);
    return {
      kind: 'sqlite',
      migrations,
      columnsOf: async (table) => {
        const found = infoOf(table).map(({ name, type }) => ({ name, type: columnType(type) }));
        return found.length === 0 ? undefined : found;
      },
      read: async function* (table, columns) {
        yield* readRows(table, columns);
      },
      lastNumberOf: async (table, column) => {
        const highest = database
          .prepare(`select coalesce(max(${quoteName(column)}), 0) as last from ${quoteName(table)}`)
          .get();
        const given = database.prepare('select seq from sqlite_sequence where name = ?').get(table);
        return Math.max(Number(highest?.['last']), Number(given?.['seq'] ?? 0));
      },
      findFact: async (name) => {
        const found = database.prepare('select value from facts where name = ?').get(name);
        return found === undefined ? undefined : String(found['value']);
      },
      close: async () => {
        if (database.isOpen) database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
