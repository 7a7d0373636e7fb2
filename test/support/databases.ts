// Every store test runs on both databases: `for (const kind of databaseKinds)`.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openConfiguredDatabase } from '../../src/database.ts';
import type { Database, DatabaseKind } from '../../src/db/transaction.ts';

export const databaseKinds: readonly DatabaseKind[] = ['sqlite', 'postgres'];

export interface StorageLocation {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
}

/** The data folder and the database of a test. */
export interface TestStorage extends StorageLocation {
  remove(): Promise<void>;
}

export function postgresUrl(database: string): string {
  const server = process.env['PARLEY_TEST_POSTGRES'];
  if (server === undefined) throw new Error('tests that use PostgreSQL are started by test/run.ts');
  return `${server}/${database}`;
}

export async function withPostgres<Out>(
  url: string,
  work: (client: pg.Client) => Promise<Out>,
): Promise<Out> {
  const client = new pg.Client({ connectionString: url });
  // A connection that breaks rejects the query; without a listener it would also end this process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A migrated database without rows, of which every test gets a copy. */
const template = 'parley_template';

/** Creates the template that `createStorage` copies. */
export async function createTemplate(): Promise<void> {
  await withPostgres(postgresUrl('postgres'), (client) => client.query(`create database ${template}`));
  const options = { dataDir: tmpdir(), databaseUrl: postgresUrl(template) };
  await (await openConfiguredDatabase(options, fail)).close();
  process.env['PARLEY_TEST_TEMPLATE'] = template;
}

/** Creates an empty data folder and, for PostgreSQL, a database: migrated already if there is a template. */
export async function createStorage(
  kind: DatabaseKind,
  { migrated = true }: { migrated?: boolean } = {},
): Promise<TestStorage> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const removeDir = () => rmSync(dataDir, { recursive: true, force: true });
  if (kind === 'sqlite') return { dataDir, databaseUrl: undefined, remove: async () => removeDir() };
  const name = `test_${randomBytes(6).toString('hex')}`;
  const server = postgresUrl('postgres');
  const copied = migrated ? process.env['PARLEY_TEST_TEMPLATE'] : undefined;
  const from = copied === undefined ? '' : ` template ${copied}`;
  await withPostgres(server, (client) => client.query(`create database ${name}${from}`));
  return {
    dataDir,
    databaseUrl: postgresUrl(name),
    remove: async () => {
      await withPostgres(server, (client) => client.query(`drop database ${name} with (force)`));
      removeDir();
    },
  };
}

function fail(error: Error): void {
  throw error;
}

/** A migrated, empty database that closes and removes itself with the test. */
export async function openTestDatabase(
  kind: DatabaseKind,
  t: { after(fn: () => Promise<void>): void },
): Promise<Database & TestStorage> {
  const storage = await createStorage(kind);
  const database = await openConfiguredDatabase(storage, fail);
  t.after(async () => {
    await database.close();
    await storage.remove();
  });
  return { ...storage, ...database };
}
