// Small files, such as keys: durable when the call returns, never half written, and readable only by their owner unless
// the caller says otherwise.
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const privateMode = 0o600;

/** Writes a temporary file, moves it into place, and flushes the folder. */
function place(path: string, text: string, mode: number, move: (from: string, to: string) => void): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    writeFileSync(temporary, text, { mode, flush: true });
    move(temporary, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Replaces the file atomically: a reader sees the old or the new one. */
export function replaceFile(path: string, text: string, mode = privateMode): void {
  place(path, text, mode, renameSync);
}

/** Creates the file if it does not exist. Returns false if another process was faster, whose file stays. */
export function createFile(path: string, text: string): boolean {
  try {
    place(path, text, privateMode, linkSync);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
