// Locks on a folder. Each is a transaction held open on a file of its own: the operating system frees it with the
// process, however that ends, so that a killed one never blocks the next.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RefusalError } from '../errors.ts';

const sqliteBusy = 5;

/** Takes the named lock for this process. Returns a function that releases it. */
function lockFolder(folder: string, name: string, busy: string): () => void {
  const file = join(folder, name);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    throw new RefusalError(
      errcode === sqliteBusy
        ? busy
        : `The lock file ${file} cannot be used: ${message}. Remove it if no other Parley uses this folder.`,
    );
  }
  const held = lock;
  return () => held.close();
}

/** One service per SQLite folder. */
export function lockDataDir(dataDir: string): () => void {
  return lockFolder(
    dataDir,
    'service.lock',
    `Another Parley already serves the data folder ${dataDir}. Stop it, or give this one its own with PARLEY_DATA_DIR.`,
  );
}

/** Only one rotation at a time, because each would create its own key. */
export function lockRotation(dataDir: string): () => void {
  return lockFolder(dataDir, 'rotation.lock', 'Another rotation of the encryption key is in progress.');
}

/** Restores into PostgreSQL share nothing but the data folder, in which each removes what killed ones have left. */
export function lockRestore(dataDir: string): () => void {
  return lockFolder(
    dataDir,
    'restore.lock',
    `Another restore into the data folder ${dataDir} is in progress.`,
  );
}

/** Editors that start at the same time start one service between them. */
export function lockServiceStart(dataDir: string): () => void {
  return lockFolder(dataDir, 'service-start.lock', 'Another program is starting the service.');
}

/** Whether a service uses this SQLite folder, even if it does not listen yet. */
export function isDataDirLocked(dataDir: string): boolean {
  try {
    lockDataDir(dataDir)();
    return false;
  } catch {
    return true;
  }
}
