// Puts a text into a file so that a reader sees the old or the new one, and a link stays a link.
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ToolFailure } from './failure.ts';
import { fileFailure } from './fileText.ts';

const anyoneWrites = 0o222;
const permissions = 0o7777;
/** A file beside it cannot be made, or not be put in its place: then it is written where it is. */
const inPlaceInstead = new Set(['EACCES', 'EPERM', 'EBUSY']);

/** What would be lost by putting another file in its place. */
async function mustStay(path: string, old: Stats | undefined): Promise<boolean> {
  const own = await lstat(path).catch(() => undefined);
  if (own === undefined) return false;
  return own.isSymbolicLink() || own.nlink > 1 || old?.uid !== process.getuid?.();
}

async function replace(path: string, text: string, old: Stats | undefined): Promise<void> {
  const temporary = join(dirname(path), `.${randomUUID()}.new`);
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    if (old !== undefined) await chmod(temporary, old.mode & permissions);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function write(path: string, text: string, old: Stats | undefined): Promise<void> {
  if (old === undefined) await mkdir(dirname(path), { recursive: true });
  if (await mustStay(path, old)) return writeFile(path, text);
  try {
    await replace(path, text, old);
  } catch (error) {
    if (!inPlaceInstead.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await writeFile(path, text);
  }
}

/**
 * Writes all of the file, and makes the folders above it. `old` is the regular file that is there, which keeps its
 * mode. Throws a `ToolFailure`.
 */
export async function writeText(
  path: string,
  shown: string,
  text: string,
  old: Stats | undefined,
): Promise<void> {
  if (old !== undefined && (old.mode & anyoneWrites) === 0)
    throw new ToolFailure(
      `${shown} is read-only. Where it is meant to be changed, chmod it with bash first.`,
    );
  try {
    await write(path, text, old);
  } catch (error) {
    throw fileFailure(`Writing ${shown}`, error);
  }
}
