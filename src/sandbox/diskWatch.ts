// Keeps a run from filling the disk: looks now and then how many bytes and files its folders hold, and how many are
// free.
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { kib, mib } from '../validation/schema.ts';

/** Why a run must end, as a sentence for its user. */
type OnDiskFull = (sentence: string) => void;

/** What must stay free on a file system. */
export interface FreeMin {
  readonly freeBytesMin: number;
  /** Inodes: each file, folder and link takes one. */
  readonly freeFilesMin: number;
}

/** What one run may take, of all its folders together. */
export interface DiskLimits extends FreeMin {
  readonly bytesMax: number;
  /** Files, folders and links; a file with several names counts once. */
  readonly filesMax: number;
}

export interface DiskWatchOptions extends DiskLimits {
  /** The workspace and the home of the run. The free space is that of the file system of the first. */
  readonly folders: readonly string[];
  readonly everyMs?: number;
  /** In which they must be counted. */
  readonly countMs?: number;
  /** Called once. */
  readonly onFull: OnDiskFull;
}

const everyMsUsual = 2_000;
/** However little has changed, as others may have freed what the run took. */
const countAtLeastEveryMs = 60_000;
const countMsUsual = 30_000;
/** So many counts that take too long in a row are as good as one that is too high. */
const lateMax = 3;
/** A count waits so many times as long as the last one took. */
const restFactor = 10;

/** By what of a disk runs out: how `du` counts it. The second option is unknown to the `du` of BusyBox. */
const counting = {
  bytes: { flags: ['-skx'], unit: kib },
  files: { flags: ['-sx', '--inodes'], unit: 1 },
} as const;
type Counted = keyof typeof counting;

interface CountOptions {
  readonly what: Counted;
  readonly folders: readonly string[];
  readonly countMs: number;
  readonly signal: AbortSignal;
}

/**
 * Counted by `du`, which does not stop at paths that are too long for one call, as a walk of our own would, and does
 * not keep the event loop busy. It follows no link. Undefined: it could not count; `late`: not in time.
 */
function count({ what, folders, countMs, signal }: CountOptions): Promise<number | 'late' | undefined> {
  const { flags, unit } = counting[what];
  return new Promise((resolve) => {
    const child = spawn('du', [...flags, '--', ...folders], {
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: countMs,
      killSignal: 'SIGKILL',
      signal,
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    child.once('error', () => resolve(undefined));
    // It ends with 1 when a file went away while it counted; what it says is good.
    child.once('close', (_, killedBy) => {
      const sizes = [...text.matchAll(/^(\d+)\t/gm)].map(([, size]) => Number(size) * unit);
      if (sizes.length === folders.length) resolve(sizes.reduce((sum, size) => sum + size, 0));
      else resolve(killedBy === null ? undefined : 'late');
    });
  });
}

const inMib = (bytes: number) => `${Math.round(bytes / mib)} MiB`;
const inNumbers = (value: number) => value.toLocaleString('en');

/** What is free on the file system of a folder. Some, such as btrfs, have no fixed number of inodes. */
async function findFree(folder: string): Promise<Record<Counted, number>> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { bytes: bavail * bsize, files: files === 0 ? Number.MAX_SAFE_INTEGER : ffree };
}

const makeRoom = 'Delete conversations that are no longer needed, or ask the operator for room.';

function freeFault(free: Record<Counted, number>, { freeBytesMin, freeFilesMin }: FreeMin) {
  if (free.bytes < freeBytesMin) return `The disk has less than ${inMib(freeBytesMin)} left. ${makeRoom}`;
  if (free.files < freeFilesMin)
    return `The file system has room for fewer than ${inNumbers(freeFilesMin)} more files (inodes). ${makeRoom}`;
  return undefined;
}

/** Why no run can begin in a folder, as a sentence for its user. Rejects where there is no such folder. */
export async function findDiskFault(folder: string, freeMin: FreeMin): Promise<string | undefined> {
  return freeFault(await findFree(folder), freeMin);
}

/** How much of one thing the folders hold, as it was last counted. */
function createTally(what: Counted, max: number, options: Omit<CountOptions, 'what'>) {
  let last = { value: 0, freeThen: 0, at: Number.NEGATIVE_INFINITY, tookMs: 0, late: false };
  return {
    isOver: () => last.value > max,
    isLate: () => last.late,
    /** Counting can wait while the file system has not lost half of what the folders may still grow by. */
    isDue: (free: number): boolean => {
      const sinceMs = performance.now() - last.at;
      if (sinceMs < last.tookMs * restFactor) return false;
      if (last.late || sinceMs > countAtLeastEveryMs) return true;
      return last.freeThen - free > (max - last.value) / 2;
    },
    renew: async (free: number): Promise<void> => {
      const at = performance.now();
      const found = await count({ what, ...options });
      const value = typeof found === 'number' ? found : last.value;
      last = { value, freeThen: free, at, tookMs: performance.now() - at, late: found === 'late' };
    },
  };
}

/** Watches until it is stopped or has called `onFull`. What is returned stops it. */
export function watchDisk(options: DiskWatchOptions): () => void {
  const { folders, bytesMax, filesMax, onFull } = options;
  const { everyMs = everyMsUsual, countMs = countMsUsual } = options;
  const [first = '/'] = folders;
  const stopping = new AbortController();
  const { signal } = stopping;
  const counter = { folders, countMs, signal };
  const tallies = {
    bytes: createTally('bytes', bytesMax, counter),
    files: createTally('files', filesMax, counter),
  };
  let lateInARow = 0;
  let timer: NodeJS.Timeout;

  async function look(): Promise<string | undefined> {
    const free = await findFree(first);
    const fault = freeFault(free, options);
    if (fault !== undefined) return fault;
    const due = (['bytes', 'files'] as const).filter((what) => tallies[what].isDue(free[what]));
    if (due.length === 0) return undefined;
    await Promise.all(due.map((what) => tallies[what].renew(free[what])));
    if (tallies.bytes.isOver())
      return `Its workspace and home hold more than ${inMib(bytesMax)}. Begin a new conversation, or ask the operator to raise PARLEY_WORKSPACE_MB.`;
    if (tallies.files.isOver())
      return `Its workspace and home hold more than ${inNumbers(filesMax)} files. Begin a new conversation, or ask the operator to raise PARLEY_WORKSPACE_FILES.`;
    lateInARow = due.some((what) => tallies[what].isLate()) ? lateInARow + 1 : 0;
    return lateInARow < lateMax
      ? undefined
      : `Its workspace and home hold so many files that they cannot be counted in ${countMs / 1_000} s.`;
  }

  const next = () => {
    timer = setTimeout(() => {
      look().then(
        (sentence) => {
          if (signal.aborted) return;
          if (sentence === undefined) return next();
          stopping.abort();
          onFull(sentence);
        },
        // A folder that is gone is full no more.
        () => signal.aborted || next(),
      );
    }, everyMs).unref();
  };
  next();

  return () => {
    stopping.abort();
    clearTimeout(timer);
  };
}
