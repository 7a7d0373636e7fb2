// Files that are deleted but still open: they take disk space that no count of folders can see.
import { readdirSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

export interface Held {
  readonly bytes: number;
  readonly files: number;
}

/** What Linux counts in `st_blocks`. */
const blockBytes = 512;
/** Of all processes of a run together. Whoever opens more may be hiding something behind them. */
const descriptorsMax = 200_000;
/** Descriptors between two turns of the event loop. */
const batch = 500;
const deletedEnding = ' (deleted)';

/** None if the process is gone, or may not be looked at. */
function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}

/** A deleted file that nothing names any more. The link alone tells whether it is worth looking at the file. */
function findDeleted(descriptor: string): Stats | undefined {
  try {
    if (!readlinkSync(descriptor).endsWith(deletedEnding)) return undefined;
    const stats = statSync(descriptor);
    return stats.isFile() && stats.nlink === 0 ? stats : undefined;
  } catch {
    // It was closed since.
    return undefined;
  }
}

/**
 * What processes hold of deleted files on the file system of a folder; each file counts once. `too many`: they have so
 * many files open that nobody can tell. Throws if the folder is gone.
 */
export async function countHeld(pids: readonly number[], folder: string): Promise<Held | 'too many'> {
  const { dev } = statSync(folder);
  const bytesByInode = new Map<number, number>();
  let count = 0;
  for (const pid of pids)
    for (const descriptor of descriptorsOf(pid)) {
      if (++count > descriptorsMax) return 'too many';
      if (count % batch === 0) await turn();
      const stats = findDeleted(descriptor);
      if (stats?.dev === dev) bytesByInode.set(stats.ino, stats.blocks * blockBytes);
    }
  return { bytes: bytesByInode.values().reduce((sum, bytes) => sum + bytes, 0), files: bytesByInode.size };
}
