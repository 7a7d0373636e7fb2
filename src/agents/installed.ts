// Agents that were installed into the data folder. Each has a folder with its versions and a record that names the
// current one, so that an installation counts only once it is complete.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { compileCheck } from '../validation/validation.ts';

const Record = Type.Object({
  /** The name of its folder, next to the record. */
  folder: Type.String({ pattern: '^[0-9A-Za-z][0-9A-Za-z.+_-]{0,199}$' }),
  packages: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })),
  installed_at: Type.String(),
});
export type InstallationRecord = Static<typeof Record>;
const check = compileCheck(Record);

const recordName = 'installed.json';

export function recordFile(agentsDir: string, id: string): string {
  return join(agentsDir, id, recordName);
}

/** The record cannot be read, so that nobody knows which version is current. */
export const damaged = Symbol('damaged');

/**
 * The folder of the current installation, as `npm install --global --prefix` creates it; undefined if there is none.
 */
export async function findInstallation(
  agentsDir: string,
  id: string,
): Promise<string | typeof damaged | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(recordFile(agentsDir, id), 'utf8'));
    if (check(record) !== undefined) return damaged;
    return join(agentsDir, id, (record as InstallationRecord).folder);
  } catch (error) {
    const isAbsent = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    return isAbsent ? undefined : damaged;
  }
}

/** Where npm puts the programs of the packages. */
export function programsOf(installation: string): string {
  return join(installation, 'bin');
}

/** Where npm puts a package. */
export function packageFolder(installation: string, name: string): string {
  return join(installation, 'lib/node_modules', name);
}
