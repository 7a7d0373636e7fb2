// Small files that hold keys: readable by their owner alone, on disk when the call returns, never half written.
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';

function writeBeside(path: string, text: string): string {
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, text, { mode: 0o600, flush: true });
  return temporary;
}

/** Replaces the file at once: a reader sees the old or the new one. */
export function replaceFile(path: string, text: string): void {
  renameSync(writeBeside(path, text), path);
}

/** Makes the file where there is none. False: another process was faster, and its file stays. */
export function createFile(path: string, text: string): boolean {
  const temporary = writeBeside(path, text);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(temporary, { force: true });
  }
}
