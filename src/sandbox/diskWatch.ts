// Keeps a run from filling the disk. It checks regularly how much its folders hold and how much is free, in bytes and
// in files.
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { kib } from '../validation/schema.ts';
import { createDiskShortage, type DiskShortage } from './diskShortage.ts';
import { countHeld } from './heldFiles.ts';

/** Gets the reason for the user. */
type OnDiskFull = (sentence: string) => void;

/** What must stay free on the file system. */
export interface FreeMin {
  readonly freeBytesMin: number;
  /** Counted in inodes; each file, folder and link takes one. */
  readonly freeFilesMin: number;
}

/** What all folders of one run together may contain. */
export interface DiskLimits extends FreeMin {
  readonly bytesMax: number;
  /** Files, folders and links; a file with several hard links counts once. */
  readonly filesMax: number;
}

export interface DiskWatchOptions extends DiskLimits {
  /** The workspace and the home of the run. The free space is that of the file system of the first. */
  readonly folders: readonly string[];
  /** The processes of the run: deleted files that they hold open count, too. */
  readonly pids?: () => readonly number[];
  /** Decides which run is stopped if the disk is nearly full. Absent: this one. */
  readonly shortage?: DiskShortage;
  /** Called with what the folders hold after each count. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
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
/** When the disk is nearly full, the runs that have grown most in this time are stopped first. */
const growthMs = 5 * 60_000;

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
 * Counts with `du`, which supports paths that are too long for a single call and does not block the event loop. It
 * follows no links. Returns undefined if it failed and `late` if it took too long.
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
    // It exits with 1 if a file disappeared while it counted, but its output is valid.
    child.once('close', (_, killedBy) => {
      const sizes = [...text.matchAll(/^(\d+)\t/gm)].map(([, size]) => Number(size) * unit);
      if (sizes.length === folders.length) resolve(sizes.reduce((sum, size) => sum + size, 0));
      else resolve(killedBy === null ? undefined : 'late');
    });
  });
}

const mb = 1_000_000;
const inMb = (bytes: number) => `${inNumbers(Math.round(bytes / mb))} MB`;
const inNumbers = (value: number) => value.toLocaleString('en');

/** Free bytes and inodes on a folder's file system. Some, such as btrfs, have no fixed number of inodes. */
async function findFree(folder: string): Promise<Record<Counted, number>> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { bytes: bavail * bsize, files: files === 0 ? Number.MAX_SAFE_INTEGER : ffree };
}

export async function findFreeBytes(folder: string): Promise<number> {
  return (await findFree(folder)).bytes;
}

const newConversation = 'Start a new conversation, or ask the operator to raise';

export const tooLargeSentence = (bytesMax: number) =>
  `The workspace and home folder exceed ${inMb(bytesMax)}. ${newConversation} PARLEY_WORKSPACE_MB.`;
export const manyFilesSentence = (filesMax: number) =>
  `The workspace and home folder exceed ${inNumbers(filesMax)} files. ${newConversation} PARLEY_WORKSPACE_FILES.`;
export const uncountableSentence = (countMs: number) =>
  `The workspace and home folder have too many files to be counted within ${countMs / 1_000} s.`;

const makeRoom = 'Delete conversations that you no longer need, or ask the operator to free disk space.';

interface FreeFault {
  readonly lacking: Counted;
  readonly sentence: string;
}

function freeFault(
  free: Record<Counted, number>,
  { freeBytesMin, freeFilesMin }: FreeMin,
): FreeFault | undefined {
  if (free.bytes < freeBytesMin)
    return { lacking: 'bytes', sentence: `The disk has less than ${inMb(freeBytesMin)} left. ${makeRoom}` };
  if (free.files < freeFilesMin)
    return {
      lacking: 'files',
      sentence: `The file system has room for fewer than ${inNumbers(freeFilesMin)} more files (inodes). ${makeRoom}`,
    };
  return undefined;
}

/** Returns a message for the user if a run cannot start in the folder. Rejects if the folder does not exist. */
export async function findDiskFault(folder: string, freeMin: FreeMin): Promise<string | undefined> {
  return freeFault(await findFree(folder), freeMin)?.sentence;
}

export interface DiskRoom {
  readonly bytes: number;
  readonly files: number;
}

/** How much the folders of a conversation may still grow; nothing if they cannot be counted in time. */
export async function findDiskRoom(
  folders: readonly string[],
  { bytesMax, filesMax }: Pick<DiskLimits, 'bytesMax' | 'filesMax'>,
  signal: AbortSignal,
): Promise<DiskRoom> {
  const options = { folders, countMs: countMsDefault, signal };
  const [bytes, files] = await Promise.all([
    count({ what: 'bytes', ...options }),
    count({ what: 'files', ...options }),
  ]);
  const left = (max: number, found: typeof bytes) =>
    typeof found === 'number' ? Math.max(0, max - found) : 0;
  return { bytes: left(bytesMax, bytes), files: left(filesMax, files) };
}

interface TallyOptions extends Omit<CountOptions, 'what'> {
  readonly pids: () => readonly number[];
}

/** Remembers how many bytes or files the folders hold, together with deleted files that are still open. */
function createTally(what: Counted, max: number, { pids, ...options }: TallyOptions) {
  const [first = '/'] = options.folders;
  let last = { value: 0, freeThen: 0, at: Number.NEGATIVE_INFINITY, tookMs: 0, late: false, unclear: false };
  let history: { readonly at: number; readonly value: number }[] = [];
  const isResting = () => performance.now() - last.at < last.tookMs * restFactor;

  async function renew(free: number): Promise<void> {
    const at = performance.now();
    const found = await count({ what, ...options });
    const held = await countHeld(pids(), first);
    const unclear = held === 'too many';
    const value = typeof found === 'number' ? found + (unclear ? 0 : held[what]) : last.value;
    last = { value, freeThen: free, at, tookMs: performance.now() - at, late: found === 'late', unclear };
    const known = history.findLastIndex((one) => one.at < at - growthMs);
    history = [...history.slice(Math.max(known, 0)), { at, value }];
  }

  return {
    value: () => last.value,
    isOver: () => last.value > max,
    isLate: () => last.late,
    isUnclear: () => last.unclear,
    /** Skips a count until the free space has shrunk by half of what the folders may still grow. */
    isDue: (free: number): boolean => {
      if (isResting()) return false;
      if (last.late || performance.now() - last.at > countAtLeastEveryMs) return true;
      return last.freeThen - free > (max - last.value) / 2;
    },
    renew,
    /** What it has grown by in the last minutes, as of a count after `since`. */
    growth: async (free: number, since: number): Promise<number> => {
      if (last.at < since || !isResting()) await renew(free);
      const { value } = last;
      return value - Math.min(value, ...history.map((one) => one.value));
    },
  };
}

/** Watches until it is stopped or has called `onFull`. Returns a function that stops it. */
export function watchDisk(options: DiskWatchOptions): () => void {
  const { folders, bytesMax, filesMax, onBytes, onFull } = options;
  const { everyMs = everyMsDefault, countMs = countMsDefault, pids = () => [] } = options;
  const shortage = (options.shortage ?? createDiskShortage()).join();
  const [first = '/'] = folders;
  const stopping = new AbortController();
  const { signal } = stopping;
  const counter = { folders, countMs, signal, pids };
  const tallies = {
    bytes: createTally('bytes', bytesMax, counter),
    files: createTally('files', filesMax, counter),
  };
  let lateInARow = 0;
  let shortSince: number | undefined;
  let timer: NodeJS.Timeout;

  async function findFault(): Promise<string | undefined> {
    const free = await findFree(first);
    const fault = freeFault(free, options);
    if (fault !== undefined) {
      shortSince ??= performance.now();
      const grownBy = await tallies[fault.lacking].growth(free[fault.lacking], shortSince);
      const isNext = !signal.aborted && shortage.isNext(grownBy);
      return overFault() ?? (isNext ? fault.sentence : undefined);
    }
    shortSince = undefined;
    shortage.clear();
    const due = (['bytes', 'files'] as const).filter((what) => tallies[what].isDue(free[what]));
    if (due.length === 0) return undefined;
    await Promise.all(due.map((what) => tallies[what].renew(free[what])));
    if (!signal.aborted) onBytes?.(tallies.bytes.value());
    const over = overFault();
    if (over !== undefined) return over;
    lateInARow = due.some((what) => tallies[what].isLate()) ? lateInARow + 1 : 0;
    return lateInARow < lateMax ? undefined : uncountableSentence(countMs);
  }

  function overFault(): string | undefined {
    if (tallies.bytes.isOver()) return tooLargeSentence(bytesMax);
    if (tallies.files.isOver()) return manyFilesSentence(filesMax);
    return tallies.bytes.isUnclear() || tallies.files.isUnclear()
      ? 'Its programs have more files open than can be looked at.'
      : undefined;
  }

  const next = () => {
    timer = setTimeout(() => {
      findFault().then(
        (sentence) => {
          if (signal.aborted) return;
          if (sentence === undefined) return next();
          stopping.abort();
          shortage.leave();
          onFull(sentence);
        },
        // A folder that was removed is not full.
        () => signal.aborted || next(),
      );
    }, everyMs).unref();
  };
  next();

  return () => {
    stopping.abort();
    shortage.leave();
    clearTimeout(timer);
  };
}
