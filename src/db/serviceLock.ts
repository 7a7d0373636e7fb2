// One service per SQLite directory. The lock is a transaction held open on a file of its own: the operating
// system frees it with the process, however that ends, so a killed service never blocks the next start.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RefusalError } from '../errors.ts';

const sqliteBusy = 5;

/** Takes the directory for this process. Returns how to give it back. */
export function lockDataDir(dataDir: string): () => void {
  const file = join(dataDir, 'service.lock');
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as { errcode?: number; message: string };
    throw new RefusalError(
      errcode === sqliteBusy
        ? `Another Parley already serves the data folder ${dataDir}. Stop it, or give this one its own with PARLEY_DATA_DIR.`
        : `The lock file ${file} cannot be used: ${message}. Remove it if no other Parley serves this folder.`,
    );
  }
  const held = lock;
  return () => held.close();
}
