// Small files that hold keys: readable by their owner alone, on disk when the call returns, never half written.
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Puts the text into place through a file beside it, and the change of the folder on disk, too. */
function place(path: string, text: string, move: (from: string, to: string) => void): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
    move(temporary, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Replaces the file at once: a reader sees the old or the new one. */
export function replaceFile(path: string, text: string): void {
  place(path, text, renameSync);
}

/** Makes the file where there is none. False: another process was faster, and its file stays. */
export function createFile(path: string, text: string): boolean {
  try {
    place(path, text, linkSync);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
