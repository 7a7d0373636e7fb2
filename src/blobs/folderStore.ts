// Blobs as files of a folder, such as one on NFS that all machines mount.
import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, open, opendir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { limitCalls } from '../process/limitCalls.ts';
import { type BlobStore, BlobStoreError, checkBlobName } from './blobStore.ts';

const folderMode = 0o700;
const fileMode = 0o600;
/** A file that is not complete yet. */
const partialSuffix = '.partial';
/**
 * Calls at once. A network file system that hangs blocks one of the few threads of the process for each call, so some
 * must stay free.
 */
const callsMax = 2;

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
const isMissing = (error: unknown) => codeOf(error) === 'ENOENT';
const isLink = (error: unknown) => codeOf(error) === 'ELOOP';

const late = () => new BlobStoreError('the folder did not respond in time');

function toStoreError(error: unknown): BlobStoreError {
  if (error instanceof BlobStoreError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new BlobStoreError(`the folder cannot be used (${code ?? message})`, { cause: error });
}

/** Not `recursive`, which reports ENOENT if the file system is read-only. */
async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { mode: folderMode }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'wx', fileMode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined for anything but a file of that size. Others may write to the folder, so a pipe or a link must not block or mislead. */
async function readAtMost(path: string, bytesMax: number): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > bytesMax) return undefined;
    const bytes = Buffer.alloc(found.size);
    let read = 0;
    for (let more = 1; more > 0 && read < bytes.length; read += more)
      more = (await file.read(bytes, read, bytes.length - read)).bytesRead;
    return bytes.subarray(0, read);
  } finally {
    await file.close();
  }
}

async function listAtMost(path: string, max: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(path)) {
    if (names.length >= max) break;
    names.push(name);
  }
  return names;
}

export function createFolderStore(top: string): BlobStore {
  const limit = limitCalls(callsMax, late);
  const run = <Out>(call: () => Promise<Out>, signal: AbortSignal) =>
    limit(signal, call).catch((error: unknown) => Promise.reject(toStoreError(error)));
  const pathOf = (folder: string) => join(top, checkBlobName(folder));

  /** An unmounted file system must not look like an empty store, and nothing may be written below its mount point. */
  async function checkTop(): Promise<void> {
    try {
      await access(top);
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new BlobStoreError('the folder does not exist: create it, or mount its file system', {
        cause: error,
      });
    }
  }

  return {
    name: top,
    put: (folder, file, bytes, signal) =>
      run(async () => {
        const path = join(pathOf(folder), checkBlobName(file));
        const partial = `${path}.${randomBytes(4).toString('hex')}${partialSuffix}`;
        await checkTop();
        await ensureFolder(pathOf(folder));
        try {
          await writeDurably(partial, bytes);
          await rename(partial, path);
        } catch (error) {
          await rm(partial, { force: true });
          throw error;
        }
      }, signal),
    get: (folder, file, bytesMax, signal) =>
      run(async () => {
        try {
          return await readAtMost(join(pathOf(folder), checkBlobName(file)), bytesMax);
        } catch (error) {
          if (!isMissing(error) && !isLink(error)) throw error;
          await checkTop();
          return undefined;
        }
      }, signal),
    list: (folder, max, signal) =>
      run(async () => {
        try {
          return await listAtMost(pathOf(folder), max);
        } catch (error) {
          if (!isMissing(error)) throw error;
          await checkTop();
          return [];
        }
      }, signal),
    remove: (folder, files, signal) =>
      run(async () => {
        for (const file of files) {
          if (file.includes('/') || signal.aborted) continue;
          await rm(join(pathOf(folder), file), { recursive: true, force: true });
        }
        // Fails while there are files left.
        await rmdir(pathOf(folder)).catch(() => {});
      }, signal),
    close: () => {},
  };
}
