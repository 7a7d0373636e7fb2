// Moves restored snapshots into their store. Blobs never change, so one that is there already is the same.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { partialNameOf } from './partialFiles.ts';

const folderMode = 0o700;

/** The store is often on another file system, so each blob is copied under a temporary name and then renamed. */
async function place(from: string, to: string): Promise<void> {
  const partial = partialNameOf(to);
  try {
    await copyFile(from, partial);
    const file = await open(partial, 'r+');
    await file.sync().finally(() => file.close());
    await rename(partial, to);
  } finally {
    await rm(partial, { force: true });
  }
}

export async function moveSnapshots(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      await mkdir(target, { recursive: true, mode: folderMode });
      await moveSnapshots(source, target);
    } else if (entry.isFile() && !existsSync(target)) await place(source, target);
  }
}
