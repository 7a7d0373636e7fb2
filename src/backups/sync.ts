// Makes sure that what was written survives a power failure.
import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { RefusalError } from '../errors.ts';

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

/** For many files: a call for each of them would take minutes on some disks. Node itself has no such call. */
export async function syncFileSystem(path: string): Promise<void> {
  await promisify(execFile)('sync', process.platform === 'linux' ? ['-f', path] : []).catch(() => {
    throw new RefusalError(
      'The restored files could not be written to disk. Check the disk of the data folder.',
    );
  });
}
