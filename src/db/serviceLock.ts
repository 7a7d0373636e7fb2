// One service per SQLite directory. The lock is a transaction held open on a file of its own: the operating
// system frees it with the process, however that ends, so a killed service never blocks the next start.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RefusalError } from '../errors.ts';

/** Takes the directory for this process. Returns how to give it back. */
export function lockDataDir(dataDir: string): () => void {
  const lock = new DatabaseSync(join(dataDir, 'service.lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch {
    lock.close();
    throw new RefusalError(
      `Another Parley already serves the data directory ${dataDir}. Stop it, or give this one its own with PARLEY_DATA_DIR.`,
    );
  }
  return () => lock.close();
}
