// The usage columns in queries. Values are kept within limits when they are read and written.
import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';
import type { DatabaseKind } from '../../db/transaction.ts';
import { type UsageColumns, usageColumns, usageMax } from './shape.ts';

type UsageColumn = keyof UsageColumns;

const least: Readonly<Record<DatabaseKind, RawBuilder<unknown>>> = {
  sqlite: sql.raw('min'),
  postgres: sql.raw('least'),
};

function bounded(kind: DatabaseKind, value: RawBuilder<number>): RawBuilder<number> {
  return sql`${least[kind]}(${value}, ${sql.lit(usageMax)})`;
}

/** Selects one column. */
export function readUsage<Name extends UsageColumn>(
  kind: DatabaseKind,
  name: Name,
): AliasedRawBuilder<number, Name> {
  return bounded(kind, sql.ref<number>(name)).as(name);
}

/** Selects all columns. */
export function readAllUsage(kind: DatabaseKind): AliasedRawBuilder<number, UsageColumn>[] {
  return usageColumns.map((name) => readUsage(kind, name));
}

/** The new value of a column after an addition. */
export function addToUsage(kind: DatabaseKind, name: UsageColumn, added: number): RawBuilder<number> {
  const before = bounded(kind, sql.ref<number>(name));
  return bounded(kind, sql`${before} + ${Math.min(added, usageMax)}`);
}
