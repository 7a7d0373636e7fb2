// Which tables a backup holds, and how a row is written: as one line of JSON, a list of the columns, the same for both
// databases.
import type { Tables } from '../db/tables.ts';
import { RefusalError } from '../errors.ts';
import { badArchive } from './tar.ts';

export type TableName = keyof Tables;

/**
 * `files`: its rows are useless without the files of conversations. `no`: it describes the running service (nodes,
 * budget_reservations), holds positions that are valid in one database only (changes), sessions, which may have been
 * ended since, so that people sign in again, or the search index, which is built again. A restore creates the migrations itself.
 */
const kept: Readonly<Record<TableName, 'yes' | 'files' | 'no'>> = {
  users: 'yes',
  keys: 'yes',
  identities: 'yes',
  sessions: 'no',
  settings: 'yes',
  secrets: 'yes',
  conversations: 'yes',
  events: 'yes',
  idempotency: 'yes',
  imports: 'yes',
  changes: 'no',
  webhooks: 'yes',
  deliveries: 'yes',
  nodes: 'no',
  uploads: 'files',
  workspace_patches: 'yes',
  snapshots: 'yes',
  snapshot_turns: 'yes',
  feedback: 'yes',
  search_positions: 'no',
  search_documents: 'no',
  facts: 'yes',
  audit: 'yes',
  spending: 'yes',
  budget_reservations: 'no',
  migrations: 'no',
};

/** Users come first, because others refer to them. */
export function keptTables(withFiles: boolean): readonly TableName[] {
  return (Object.keys(kept) as TableName[]).filter(
    (name) => kept[name] === 'yes' || (withFiles && kept[name] === 'files'),
  );
}

/** Every table of the schema, for a database that is replaced. */
export const allTables = Object.keys(kept) as readonly TableName[];

export type ColumnType = 'integer' | 'text';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

export interface TableColumns {
  readonly name: string;
  readonly columns: readonly Column[];
}

export function columnType(declared: string): ColumnType {
  if (/^(big)?int(eger)?$/i.test(declared)) return 'integer';
  if (/^text$/i.test(declared)) return 'text';
  throw new Error(`a backup cannot hold columns of the type ${declared}`);
}

export type Value = string | number | null;

/** Integers that a number cannot hold exactly are strings. */
export function toLine(values: readonly Value[]): string {
  return `${JSON.stringify(values)}\n`;
}

function isInteger(value: unknown): boolean {
  return typeof value === 'number' ? Number.isSafeInteger(value) : /^-?\d{1,19}$/.test(value as string);
}

function isValue(value: unknown, { type }: Column): boolean {
  if (value === null) return true;
  if (type === 'integer') return (typeof value === 'number' || typeof value === 'string') && isInteger(value);
  return typeof value === 'string';
}

/** Throws a RefusalError if the line does not fit the columns. */
export function parseLine(line: string, { name, columns }: TableColumns): Value[] {
  let values: unknown;
  try {
    values = JSON.parse(line);
  } catch {
    throw badArchive(`a row of ${name} is not JSON`);
  }
  if (!Array.isArray(values) || values.length !== columns.length)
    throw badArchive(`a row of ${name} has the wrong number of columns`);
  const wrong = columns.find((column, i) => !isValue(values[i], column));
  if (wrong !== undefined) throw badArchive(`a row of ${name} has a wrong value for ${wrong.name}`);
  return values as Value[];
}

/** Identifiers come from an archive on their way back, and are put into statements as text. */
export function quoteName(name: string): string {
  if (!/^[a-z_]{1,63}$/.test(name))
    throw new RefusalError('The backup has a table or column with a bad name.');
  return `"${name}"`;
}

/** Tables whose rows the database numbers, with the column. */
export const numbered: Readonly<Partial<Record<TableName, string>>> = {
  users: 'id',
  conversations: 'key',
  audit: 'id',
};
