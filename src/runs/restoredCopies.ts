// The restored copies of snapshots in the data folder: how many there are, and when they are removed.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import { type FreeMin, findDiskFault } from '../sandbox/diskWatch.ts';
import type { OpenSandbox } from '../sandbox/openSandbox.ts';
import { foldersOf, notRestored, retryAfterS } from './restoreCopy.ts';

/** Copies of one process, and those of one user. The one that was read longest ago is removed for another. */
const copiesMax = 8;
const userCopiesMax = 4;
const idleMs = 10 * 60_000;
const checkEveryMs = 60_000;
/** A process marks its folder with every check. One that is older belongs to a process that was killed. */
const leftMs = 15 * 60_000;
const folderMode = 0o700;

/** What holds the files of a copy, if they are on another machine. */
type CopyHolder = Pick<OpenSandbox, 'close' | 'lost'>;

export interface RestoredCopy {
  readonly userId: number;
  readonly folder: string;
  /** Rejects if it could not be restored. */
  readonly ready: Promise<CopyHolder>;
  readonly stop: AbortController;
  usedAt: number;
  /** It is not removed while somebody reads it or waits for it. */
  readers: number;
}

interface CopiesOptions {
  readonly dataDir: string;
  readonly freeMin: FreeMin;
  readonly onBackgroundError: (error: Error) => void;
}

type RestoreInto = (folder: string, signal: AbortSignal) => Promise<CopyHolder>;

export function createRestoredCopies({ dataDir, freeMin, onBackgroundError }: CopiesOptions) {
  const top = join(dataDir, 'restored');
  const own = join(top, randomBytes(8).toString('hex'));
  /** By the id of the snapshot. */
  const copies = new Map<string, RestoredCopy>();

  async function drop(id: string, copy: RestoredCopy): Promise<void> {
    if (copies.get(id) === copy) copies.delete(id);
    copy.stop.abort();
    const sandbox = await copy.ready.catch(() => undefined);
    await sandbox?.close();
    await rm(copy.folder, { recursive: true, force: true });
  }

  /** Makes room for one more. Throws if all that could make room are being read. */
  function makeRoom(userId: number): void {
    const ofUser = [...copies].filter(([, copy]) => copy.userId === userId);
    const isUserFull = ofUser.length >= userCopiesMax;
    if (!isUserFull && copies.size < copiesMax) return;
    const idle = (isUserFull ? ofUser : [...copies]).filter(([, { readers }]) => readers === 0);
    const [oldest] = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined)
      throw new AppError('overloaded', 'Too many snapshots are being read; try again.', { retryAfterS });
    drop(...oldest).catch(onBackgroundError);
  }

  async function create(folder: string, signal: AbortSignal, restore: RestoreInto): Promise<CopyHolder> {
    for (const path of Object.values(foldersOf(folder)))
      await mkdir(path, { recursive: true, mode: folderMode });
    const fault = await findDiskFault(folder, freeMin);
    if (fault !== undefined) throw notRestored(fault);
    return restore(folder, signal);
  }

  /** Begins to restore a copy, which goes on whether or not somebody waits for it. */
  function add(id: string, userId: number, restore: RestoreInto): RestoredCopy {
    makeRoom(userId);
    // A copy of the same snapshot may still be being removed.
    const folder = join(own, randomBytes(8).toString('hex'));
    const stop = new AbortController();
    const ready = create(folder, stop.signal, restore);
    const copy = { userId, folder, ready, stop, usedAt: performance.now(), readers: 0 };
    copies.set(id, copy);
    // The next request tries again.
    const dropIt = () => drop(id, copy).catch(onBackgroundError);
    ready.then(({ lost }) => void lost?.then(dropIt), dropIt);
    return copy;
  }

  async function removeIdle(): Promise<void> {
    const now = performance.now();
    for (const [id, copy] of copies)
      if (copy.readers === 0 && now - copy.usedAt > idleMs) await drop(id, copy);
  }

  async function removeLeft(): Promise<void> {
    const now = new Date();
    await utimes(own, now, now).catch(() => {});
    for (const name of await readdir(top).catch(() => [])) {
      const folder = join(top, name);
      const found = await stat(folder).catch(() => undefined);
      if (found !== undefined && now.getTime() - found.mtimeMs > leftMs)
        await rm(folder, { recursive: true, force: true });
    }
  }

  const check = () => removeIdle().then(removeLeft).catch(onBackgroundError);
  const timer = setInterval(() => void check(), checkEveryMs).unref();
  void check();

  return {
    find: (id: string) => copies.get(id),
    add,
    close: async () => {
      clearInterval(timer);
      await Promise.all([...copies].map(([id, copy]) => drop(id, copy)));
      await rm(own, { recursive: true, force: true });
    },
  };
}
