// Uploads for conversations that are not running wait in the data folder. The service chooses all names there.
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { NewFile } from './frames.ts';

const folderMode = 0o700;
const fileMode = 0o600;
const partialSuffix = '.partial';
/** Longer than any upload may take. */
const abandonedMs = 30 * 60_000;

export interface StagedUpload {
  readonly names: readonly string[];
  readonly bytes: number;
}

export function createStaging(dataDir: string) {
  const top = join(dataDir, 'uploads');
  const pathOf = (id: string) => join(top, id);
  const manifestOf = (folder: string) => join(folder, 'names.json');

  async function writeAll(folder: string, files: AsyncIterable<NewFile>): Promise<StagedUpload> {
    const names: string[] = [];
    let bytes = 0;
    for await (const { name, content } of files) {
      const path = join(folder, String(names.length));
      const target = createWriteStream(path, { flags: 'wx', mode: fileMode, flush: true });
      await pipeline(content, target);
      bytes += target.bytesWritten;
      names.push(name);
    }
    await writeFile(manifestOf(folder), JSON.stringify(names), { mode: fileMode, flush: true });
    return { names, bytes };
  }

  /** Keeps all files or none. */
  async function store(id: string, files: AsyncIterable<NewFile>): Promise<StagedUpload> {
    const partial = pathOf(`${id}${partialSuffix}`);
    await mkdir(partial, { recursive: true, mode: folderMode });
    try {
      const staged = await writeAll(partial, files);
      await rename(partial, pathOf(id));
      return staged;
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
  }

  async function* filesOf(id: string, names: readonly string[]): AsyncGenerator<NewFile> {
    for (const [i, name] of names.entries())
      yield { name, content: createReadStream(join(pathOf(id), String(i))) };
  }

  /** Undefined if it is not here. */
  async function open(id: string): Promise<AsyncGenerator<NewFile> | undefined> {
    const text = await readFile(manifestOf(pathOf(id)), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return text === undefined ? undefined : filesOf(id, JSON.parse(text) as string[]);
  }

  /** The uploads that may have been abandoned: they are neither being written nor about to be recorded. */
  async function listOld(now: number): Promise<string[]> {
    const names = await readdir(top).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const old: string[] = [];
    for (const name of names) {
      const found = await stat(pathOf(name)).catch(() => undefined);
      if (found !== undefined && now - found.mtimeMs > abandonedMs) old.push(name);
    }
    return old;
  }

  return {
    /** The parent folder, which is created if it is missing. */
    ensureTop: async (): Promise<string> => {
      await mkdir(top, { recursive: true, mode: folderMode });
      return top;
    },
    store,
    open,
    listOld,
    remove: (id: string) => rm(pathOf(id), { recursive: true, force: true }),
  };
}

export type Staging = ReturnType<typeof createStaging>;
