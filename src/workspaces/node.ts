// The name of this machine's data folder: a workspace is found again only where it was made.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFile } from '../process/privateFiles.ts';

/** Made at the first start; whoever shares the folder shares the name. */
export function nodeIdOf(dataDir: string): string {
  const file = join(dataDir, 'node.id');
  createFile(file, `${randomUUID()}\n`);
  return readFileSync(file, 'utf8').trim();
}
