// A small file system for tests that fill it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Tmpfs {
  readonly folder: string;
  remove(): void;
}

/** Throws if this process may not mount. */
export function mountTmpfs(inodes: number, size = '1g'): Tmpfs {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tmpfs-'));
  try {
    const options = `size=${size},nr_inodes=${inodes},mode=700`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return {
    folder,
    remove: () => {
      // Lazily, because files in it may still be open.
      execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
      rmdirSync(folder);
    },
  };
}

function tryToMount(): string | false {
  try {
    mountTmpfs(100).remove();
    return false;
  } catch {
    return 'only root may mount a small file system';
  }
}

/** Why tests with a small file system are skipped here; false if they are not. */
export const noTmpfs = tryToMount();
