// Keeps a run from filling the disk. It checks regularly how much its folders hold and how much is free, in bytes and
// in files.
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { kib, mib } from '../validation/schema.ts';

/** Why a run must end, as a sentence for its user. */
type OnDiskFull = (sentence: string) => void;

/** What must stay free on a file system. */
export interface FreeMin {
  readonly freeBytesMin: number;
  /** Counted in inodes; each file, folder and link takes one. */
  readonly freeFilesMin: number;
}

/** What all folders of one run together may hold. */
export interface DiskLimits extends FreeMin {
  readonly bytesMax: number;
  /** Files, folders and links; a file with several names counts once. */
  readonly filesMax: number;
}

export interface DiskWatchOptions extends DiskLimits {
  /** The workspace and the home of the run. The free space is that of the file system of the first. */
  readonly folders: readonly string[];
  readonly everyMs?: number;
  /** How long one count may take. */
  readonly countMs?: number;
  /** Called once. */
  readonly onFull: OnDiskFull;
}

const everyMsDefault = 2_000;
/** Counts at least this often, because free space that others release can hide growth. */
const countAtLeastEveryMs = 60_000;
const countMsDefault = 30_000;
/** This many timeouts in a row count as too many files. */
const lateMax = 3;
/** The pause between counts, as a multiple of how long the last one took. */
const restFactor = 10;

/** How `du` counts bytes and files. The `du` of BusyBox does not know `--inodes`. */
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

/** Free bytes and inodes on a folder's file system. Some, such as btrfs, have no fixed number of inodes. */
async function findFree(folder: string): Promise<Record<Counted, number>> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { bytes: bavail * bsize, files: files === 0 ? Number.MAX_SAFE_INTEGER : ffree };
}

const makeRoom = 'Delete conversations that you no longer need, or ask the operator to free disk space.';

function freeFault(free: Record<Counted, number>, { freeBytesMin, freeFilesMin }: FreeMin) {
  if (free.bytes < freeBytesMin) return `The disk has less than ${inMib(freeBytesMin)} left. ${makeRoom}`;
  if (free.files < freeFilesMin)
    return `The file system has room for fewer than ${inNumbers(freeFilesMin)} more files (inodes). ${makeRoom}`;
  return undefined;
}

/** Returns a message for the user if a run cannot start in the folder. Rejects if the folder does not exist. */
export async function findDiskFault(folder: string, freeMin: FreeMin): Promise<string | undefined> {
  return freeFault(await findFree(folder), freeMin);
}

/** Remembers how many bytes or files the folders hold. */
function createTally(what: Counted, max: number, options: Omit<CountOptions, 'what'>) {
  let last = { value: 0, freeThen: 0, at: Number.NEGATIVE_INFINITY, tookMs: 0, late: false };
  return {
    isOver: () => last.value > max,
    isLate: () => last.late,
    /** Skips a count until the free space has shrunk by half of what the folders may still grow. */
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
  const { everyMs = everyMsDefault, countMs = countMsDefault } = options;
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

  async function findFault(): Promise<string | undefined> {
    const free = await findFree(first);
    const fault = freeFault(free, options);
    if (fault !== undefined) return fault;
    const due = (['bytes', 'files'] as const).filter((what) => tallies[what].isDue(free[what]));
    if (due.length === 0) return undefined;
    await Promise.all(due.map((what) => tallies[what].renew(free[what])));
    if (tallies.bytes.isOver())
      return `Its workspace and home hold more than ${inMib(bytesMax)}. Start a new conversation, or ask the operator to raise PARLEY_WORKSPACE_MB.`;
    if (tallies.files.isOver())
      return `Its workspace and home hold more than ${inNumbers(filesMax)} files. Start a new conversation, or ask the operator to raise PARLEY_WORKSPACE_FILES.`;
    lateInARow = due.some((what) => tallies[what].isLate()) ? lateInARow + 1 : 0;
    return lateInARow < lateMax
      ? undefined
      : `Its workspace and home hold so many files that they cannot be counted in ${countMs / 1_000} s.`;
  }

  const next = () => {
    timer = setTimeout(() => {
      findFault().then(
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
