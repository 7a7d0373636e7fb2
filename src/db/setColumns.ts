// The calls of a set as columns, which a statement for PostgreSQL reads like a table.
import { type RawBuilder, sql } from 'kysely';

type ColumnType = 'bigint' | 'text';

/** The columns of a table of calls, with their types. */
export type CallColumns = Readonly<Record<string, ColumnType>>;

type Value<Type extends ColumnType> = Type extends 'bigint' ? number | null : string | null;
export type CallRow<Columns extends CallColumns> = { readonly [Name in keyof Columns]: Value<Columns[Name]> };
export type ColumnLists<Columns extends CallColumns> = {
  readonly [Name in keyof Columns]: readonly Value<Columns[Name]>[];
};

/** The values of each column, in the order of the rows. */
export function listsOf<Columns extends CallColumns>(
  columns: Columns,
  rows: readonly CallRow<Columns>[],
): ColumnLists<Columns> {
  const lists = Object.keys(columns).map((name) => [name, rows.map((row) => row[name])]);
  return Object.fromEntries(lists) as ColumnLists<Columns>;
}

/** The FROM item that reads these lists as a table with this name. */
export function tableOf<Columns extends CallColumns>(
  name: string,
  columns: Columns,
  lists: ColumnLists<Columns>,
): RawBuilder<unknown> {
  const values = Object.entries(columns).map(([column, type]) => sql`${lists[column]}::${sql.raw(type)}[]`);
  const names = Object.keys(columns).map((column) => sql.ref(column));
  return sql`unnest(${sql.join(values)}) as ${sql.ref(name)} (${sql.join(names)})`;
}
