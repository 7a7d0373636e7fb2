// The owner's first API key. It is written to a file before it is stored, so that a crash in between leaves a key that
// the next start can use.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../db/transaction.ts';
import { createFile, replaceFile } from '../process/durableFiles.ts';
import { ownerName } from '../users/owner.ts';
import { isActive } from '../users/store.ts';
import { type Credential, createCredential, credentialId, hashCredential } from './credentials.ts';
import { toRow } from './issue.ts';
import { scopes } from './schema.ts';
import { createFirstKey, findKey, hasUsableSessionKey } from './store.ts';

export interface OwnerKey {
  readonly file: string;
  /** Whether the file contains a valid key. */
  readonly usable: boolean;
  /** The credential, if it was created just now. It is not shown again. */
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

/** Creates the owner's key if nobody could log in otherwise. */
export async function ensureOwnerKey(database: Database, dataDir: string): Promise<OwnerKey> {
  const file = join(dataDir, 'owner.key');
  const existed = existsSync(file);
  const kept = readCredential(file);
  const known = kept && (await database.run(findKey, kept.id));
  if (await database.run(hasUsableSessionKey, null)) {
    const isValid = known !== undefined && known.revoked_at === null && isActive(known);
    return { file, usable: isValid && known.hash === kept?.hash, made: undefined };
  }
  const unused = kept !== undefined && known === undefined;
  const fresh = unused ? kept : createCredential('session');
  // A file with other contents, such as a revoked key, is replaced.
  const made = !unused && writeKey(file, fresh, existed);
  // Another process may have created the file meanwhile; its key is used then.
  const credential = unused || made ? fresh : (readCredential(file) ?? fresh);
  const grant = {
    kind: 'session',
    owner: { name: ownerName },
    name: 'owner',
    scopes,
    expiresAt: null,
    bearer: false,
    by: 'service',
  } as const;
  if (await database.run(createFirstKey, toRow(grant, credential)))
    return { file, usable: true, made: credential.text };
  // Another process on this database was faster. It may have stored the key that was written here.
  if ((await database.run(findKey, credential.id))?.hash === credential.hash)
    return { file, usable: true, made: undefined };
  // Otherwise the key is in the folder of that process.
  if (made) rmSync(file, { force: true });
  return { file, usable: !made, made: undefined };
}

/** Returns whether the file contains this key now. */
function writeKey(file: string, { text }: Credential, stale: boolean): boolean {
  if (!stale) return createFile(file, `${text}\n`);
  replaceFile(file, `${text}\n`);
  return true;
}
