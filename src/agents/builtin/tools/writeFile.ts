// Writes a file so that readers see either the old or the new text. The path has been resolved, and links that appear in
// it later are not followed.
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, open, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ToolFailure } from './failure.ts';
import { fileFailure } from './fileText.ts';

const anyoneWrites = 0o222;
const permissions = 0o7777;
/** After these errors of the replacement, the file is written in place. */
const inPlaceInstead = new Set(['EACCES', 'EPERM', 'EBUSY']);

/** Whether a replacement would lose hard links or the owner of the file. */
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

/** Fails with ELOOP if the file has been replaced with a link. */
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

/** Works in the opened folder, even if its path changes. Refuses a path that contains a link by now. */
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
 * Writes the whole file, and creates its folders. `path` must have no links. `old` is the existing regular file, whose
 * mode is kept. Throws a `ToolFailure`.
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
