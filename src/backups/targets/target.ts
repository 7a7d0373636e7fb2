// A new database that a restore fills. Nothing is visible to others before `commit`.
import { migrations } from '../../db/migrate.ts';
import type { Migration } from '../../db/migrations/migration.ts';
import type { DatabaseKind, Queries, Steps } from '../../db/transaction.ts';
import { RefusalError } from '../../errors.ts';
import type { TableColumns, TableName, Value } from '../tables.ts';

export interface DatabaseTarget {
  readonly kind: DatabaseKind;
  /** Creates the schema that the backup was made with. */
  createSchema(applied: readonly string[]): Promise<void>;
  insert(table: TableColumns, rows: readonly (readonly Value[])[]): Promise<void>;
  /** The database gives higher numbers than these to new rows. */
  setLastNumbers(numbers: Readonly<Partial<Record<TableName, number>>>): Promise<void>;
  /** Applies the migrations that are newer than the backup. */
  migrate(): Promise<void>;
  drive<Out>(steps: (q: Queries) => Steps<Out>): Promise<Out>;
  commit(): Promise<void>;
  /** Removes everything, unless it was committed. */
  close(): Promise<void>;
}

/** Throws a RefusalError if this version does not know one of them. */
export function migrationsOf(applied: readonly string[]): readonly Migration[] {
  const unknown = new Set(applied).difference(new Set(migrations.map(({ name }) => name)));
  if (unknown.size > 0)
    throw new RefusalError(
      `The backup was made by a newer version of Parley (it has the migrations ${[...unknown].join(', ')}). Install that version, or a newer one, to restore it.`,
    );
  return migrations.filter(({ name }) => applied.includes(name));
}
