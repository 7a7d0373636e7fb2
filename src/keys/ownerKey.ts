// The owner's first key. It is written to a file before the database knows it, so that a crash in between
// leaves a key that the next start can still use.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../db/transaction.ts';
import { createFile, replaceFile } from '../process/privateFiles.ts';
import { ownerName } from '../users/owner.ts';
import { type Credential, createCredential, credentialId, hashCredential } from './credentials.ts';
import { scopes } from './schema.ts';
import { toRow } from './service.ts';
import { createFirstKey, findKey, hasUsableSessionKey } from './store.ts';

export interface OwnerKey {
  readonly file: string;
  /** Whether the file holds a key that can be used. */
  readonly usable: boolean;
  /** The credential, where it was made just now; it is not shown again. */
  readonly made: string | undefined;
}

function readCredential(file: string): Credential | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    const id = credentialId(text);
    return id === undefined ? undefined : { id, text, hash: hashCredential(text) };
  } catch {
    return undefined;
  }
}

/** Makes the owner's key where nobody could sign in otherwise. */
export async function ensureOwnerKey(database: Database, dataDir: string): Promise<OwnerKey> {
  const file = join(dataDir, 'owner.key');
  const existed = existsSync(file);
  const kept = readCredential(file);
  const known = kept && (await database.run(findKey, kept.id));
  if (await database.run(hasUsableSessionKey, null))
    return { file, usable: known?.hash === kept?.hash && known?.revoked_at === null, made: undefined };
  const unused = kept !== undefined && known === undefined;
  const fresh = unused ? kept : createCredential('session');
  // A file that holds anything else, such as a key that was revoked, is of no use.
  const made = !unused && writeKey(file, fresh, existed);
  // Another process in this folder may have made the file meanwhile: its key is as good.
  const credential = unused || made ? fresh : (readCredential(file) ?? fresh);
  const grant = {
    kind: 'session',
    userName: ownerName,
    name: 'owner',
    scopes,
    expiresAt: null,
    by: 'service',
  } as const;
  if (await database.run(createFirstKey, toRow(grant, credential)))
    return { file, usable: true, made: credential.text };
  // Another process on this database was faster. It may have taken the key that was written here.
  if ((await database.run(findKey, credential.id))?.hash === credential.hash)
    return { file, usable: true, made: undefined };
  // Else its folder has the key.
  if (made) rmSync(file, { force: true });
  return { file, usable: !made, made: undefined };
}

/** Whether the file now holds this key. */
function writeKey(file: string, { text }: Credential, stale: boolean): boolean {
  if (!stale) return createFile(file, `${text}\n`);
  replaceFile(file, `${text}\n`);
  return true;
}
