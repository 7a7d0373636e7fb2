// The id of this machine's data folder. A workspace exists only on the machine that created it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFile } from '../process/durableFiles.ts';

/** Created at the first start. All processes that share the folder share the id. */
export function nodeIdOf(dataDir: string): string {
  const file = join(dataDir, 'node.id');
  createFile(file, `${randomUUID()}\n`);
  return readFileSync(file, 'utf8').trim();
}
