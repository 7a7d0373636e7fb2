// The owner's first key. It is written to a file before the database knows it, so that a crash in between
// leaves a key that the next start can still use.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../db/transaction.ts';
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

function writeCredential(file: string): Credential {
  const credential = createCredential('session');
  writeFileSync(`${file}.new`, `${credential.text}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return credential;
}

/** Makes the owner's key where nobody could sign in otherwise. */
export async function ensureOwnerKey(database: Database, dataDir: string): Promise<OwnerKey> {
  const file = join(dataDir, 'owner.key');
  const kept = readCredential(file);
  const known = kept && (await database.run(findKey, kept.id));
  if (await database.run(hasUsableSessionKey, null))
    return { file, usable: known?.hash === kept?.hash && known?.revoked_at === null, made: undefined };
  const unused = kept !== undefined && known === undefined;
  const credential = unused ? kept : writeCredential(file);
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
  // Another process on this database was faster; its folder has the key.
  if (!unused) rmSync(file, { force: true });
  return { file, usable: false, made: undefined };
}
