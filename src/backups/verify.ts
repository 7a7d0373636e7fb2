// Verifies a backup: checks every hash, restores its database into a temporary file, and compares what is in there with
// what was stored.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusalError } from '../errors.ts';
import type { Head, Manifest } from './manifest.ts';
import { readArchive } from './openArchive.ts';
import { checkBackup } from './restore.ts';
import { openSqliteSource } from './sources/sqliteSource.ts';
import { parseLine, type TableName } from './tables.ts';
import { openSqliteTarget } from './targets/sqliteTarget.ts';

export interface Verified {
  readonly head: Head;
  readonly manifest: Manifest;
}

/** Restores the tables with the schema of the backup, without newer migrations. */
async function restoreTables(file: string, passphrase: string | undefined, to: string): Promise<Verified> {
  const target = openSqliteTarget(to);
  try {
    const read = await readArchive(file, passphrase, {
      onHead: ({ migrations }) => target.createSchema(migrations),
      onLines: (table, lines) =>
        target.insert(
          table,
          lines.map((line) => parseLine(line, table)),
        ),
      onEntry: () => {},
    });
    await target.commit();
    return read;
  } finally {
    await target.close();
  }
}

async function compareTables(file: string, { head, manifest }: Verified): Promise<void> {
  const source = openSqliteSource(file);
  try {
    for (const { name, columns } of head.tables) {
      const hash = createHash('sha256');
      let rows = 0;
      for await (const piece of source.read(name as TableName, columns)) {
        hash.update(piece.lines);
        rows += piece.rows;
      }
      const stored = manifest.tables[name];
      if (stored?.rows !== rows || stored.sha256 !== hash.digest('hex'))
        throw new RefusalError(
          `The rows of ${name} differ after they were restored. Do not rely on this backup.`,
        );
    }
  } finally {
    await source.close();
  }
}

/** Throws a RefusalError with the first fault that it finds. Takes as much room in TMPDIR as the database does. */
export async function verifyBackup(file: string, passphrase: string | undefined): Promise<Verified> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-verify-'));
  try {
    await checkBackup(file, passphrase, { folder, withFiles: false });
    const restored = join(folder, 'restored.db');
    const verified = await restoreTables(file, passphrase, restored);
    await compareTables(restored, verified);
    return verified;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
