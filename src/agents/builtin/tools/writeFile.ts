// Puts a text into a file so that a reader sees the old or the new one. The path has no links when it gets here, and none
// is followed that appears in it later.
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, open, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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
  return own.nlink > 1 || old?.uid !== process.getuid?.();
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

/** Fails with ELOOP if a link has taken the place of the file. */
async function writeInPlace(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using file = await open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
  await file.truncate();
  await file.writeFile(text);
}

async function write(path: string, text: string, old: Stats | undefined): Promise<void> {
  if (await mustStay(path, old)) return writeInPlace(path, text);
  try {
    await replace(path, text, old);
  } catch (error) {
    if (!inPlaceInstead.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await writeInPlace(path, text);
  }
}

/** Works in the folder as it was opened, whatever its path leads to by then. Refuses a path that got a link in it. */
async function inFolder(path: string, work: (path: string) => Promise<void>): Promise<void> {
  const folder = dirname(path);
  await using handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  const opened = `/proc/self/fd/${handle.fd}`;
  const real = await realpath(opened).catch(() => undefined);
  if ((real ?? (await realpath(folder))) !== folder)
    throw new ToolFailure(
      `${path} leads to another file since a link was put into its path. Nothing was changed.`,
    );
  await work(join(real === undefined ? folder : opened, basename(path)));
}

/**
 * Writes all of the file, and makes the folders above it. `path` must have no links. `old` is the regular file that is
 * there, which keeps its mode. Throws a `ToolFailure`.
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
    if (old === undefined) await mkdir(dirname(path), { recursive: true });
    await inFolder(path, (opened) => write(opened, text, old));
  } catch (error) {
    throw error instanceof ToolFailure ? error : fileFailure(`Writing ${shown}`, error);
  }
}
