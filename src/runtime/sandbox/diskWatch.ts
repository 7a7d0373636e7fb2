// Keeps a run from filling the disk: looks now and then how much its folders hold, and how much is free.
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { kib, mib } from '../../schema.ts';

/** Why a run must end, as a sentence for its user. */
type OnDiskFull = (sentence: string) => void;

export interface DiskWatchOptions {
  /** The workspace and the home of the run. */
  readonly folders: readonly string[];
  /** Of all of them together. */
  readonly bytesMax: number;
  /** Of the file system of the first. */
  readonly freeBytesMin: number;
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

/**
 * Counted by `du`, which does not stop at paths that are too long for one call, as a walk of our own would, and does
 * not keep the event loop busy. It follows no link. Undefined: it could not count; `late`: not in time.
 */
function countBytes(
  folders: readonly string[],
  countMs: number,
  signal: AbortSignal,
): Promise<number | 'late' | undefined> {
  return new Promise((resolve) => {
    const child = spawn('du', ['-skx', '--', ...folders], {
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
      const sizes = [...text.matchAll(/^(\d+)\t/gm)].map(([, size]) => Number(size) * kib);
      if (sizes.length === folders.length) resolve(sizes.reduce((sum, size) => sum + size, 0));
      else resolve(killedBy === null ? undefined : 'late');
    });
  });
}

const inMib = (bytes: number) => `${Math.round(bytes / mib)} MiB`;

/** Watches until it is stopped or has called `onFull`. What is returned stops it. */
export function watchDisk(options: DiskWatchOptions): () => void {
  const { folders, bytesMax, freeBytesMin, onFull } = options;
  const { everyMs = everyMsUsual, countMs = countMsUsual } = options;
  const [first = '/'] = folders;
  const stopping = new AbortController();
  const { signal } = stopping;
  let lateInARow = 0;
  let timer: NodeJS.Timeout;
  let counted = { bytes: 0, freeThen: 0, at: Number.NEGATIVE_INFINITY, tookMs: 0 };

  /** Counting can wait while the file system has not lost half of what the folders may still grow by. */
  function mustCount(free: number): boolean {
    const sinceMs = performance.now() - counted.at;
    if (sinceMs < counted.tookMs * restFactor) return false;
    if (lateInARow > 0 || sinceMs > countAtLeastEveryMs) return true;
    return counted.freeThen - free > (bytesMax - counted.bytes) / 2;
  }

  async function look(): Promise<string | undefined> {
    const { bavail, bsize } = await statfs(first);
    const free = bavail * bsize;
    if (free < freeBytesMin) return `The disk has less than ${inMib(freeBytesMin)} left.`;
    if (!mustCount(free)) return undefined;
    const at = performance.now();
    const count = await countBytes(folders, countMs, signal);
    const bytes = typeof count === 'number' ? count : counted.bytes;
    counted = { bytes, freeThen: free, at, tookMs: performance.now() - at };
    if (bytes > bytesMax) return `Its workspace and home hold more than ${inMib(bytesMax)}.`;
    lateInARow = count === 'late' ? lateInARow + 1 : 0;
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
