// The name of this machine's data folder: a workspace is found again only where it was made.
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Made at the first start; whoever shares the folder shares the name. */
export function nodeIdOf(dataDir: string): string {
  const file = join(dataDir, 'node.id');
  try {
    writeFileSync(file, `${randomUUID()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
