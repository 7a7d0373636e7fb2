// A small file system of its own for a test that fills it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Tmpfs {
  readonly folder: string;
  remove(): void;
}

/** Throws where this process may not mount. */
export function mountTmpfs(inodes: number): Tmpfs {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tmpfs-'));
  try {
    const options = `size=1g,nr_inodes=${inodes},mode=700`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return {
    folder,
    remove: () => {
      // At once, also where something is still open in it.
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

/** Why tests with a small file system are skipped here; false where they are not. */
export const noTmpfs = tryToMount();
