// One consistent view of a database, as a backup reads it.

import { migrations } from '../../db/migrate.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { RefusalError } from '../../errors.ts';
import type { Column, TableName } from '../tables.ts';

export interface DatabaseSource {
  readonly kind: DatabaseKind;
  /** The names of the migrations that were applied. */
  readonly migrations: readonly string[];
  /** The columns of a table; undefined if this schema does not have it. */
  columnsOf(table: TableName): Promise<readonly Column[] | undefined>;
  /** Its rows in the order of the primary key, in pieces that end with a whole line. */
  read(table: TableName, columns: readonly Column[]): AsyncGenerator<RowPiece>;
  /** The highest number that the database has given to a row of this table. */
  lastNumberOf(table: TableName, column: string): Promise<number>;
  findFact(name: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface RowPiece {
  readonly lines: string;
  readonly rows: number;
}

/** A piece ends when it has this many characters. */
export const pieceChars = 262_144;

const known = new Set(migrations.map(({ name }) => name));

export function checkKnown(applied: readonly string[]): void {
  const unknown = applied.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new RefusalError(
      `This database was changed by a newer version of Parley (it holds ${unknown.join(', ')}). Make the backup with that version.`,
    );
}
