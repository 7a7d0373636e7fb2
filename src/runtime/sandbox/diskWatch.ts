// Keeps a run from filling the disk: looks now and then how much its folders hold, and how much is free.
import { spawn } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { mib } from '../../schema.ts';

/** Why a run must end, as a sentence for its user. */
export type OnDiskFull = (sentence: string) => void;

export interface DiskWatchOptions {
  /** The workspace and the home of the run. */
  readonly folders: readonly string[];
  /** Of all of them together. */
  readonly bytesMax: number;
  /** Of the file system of the first. */
  readonly freeBytesMin: number;
  readonly everyMs?: number;
  /** Called once. */
  readonly onFull: OnDiskFull;
}

const everyMsUsual = 2_000;
/** However little has changed, as others may have freed what the run took. */
const countAtLeastEveryMs = 60_000;
const countMsMax = 30_000;
/** A count waits so many times as long as the last one took. */
const restFactor = 10;

/**
 * Counted by `du`, which does not stop at paths that are too long for one call, as a walk of our own would, and does
 * not keep the event loop busy. It follows no link. Undefined: it could not count.
 */
function countBytes(folders: readonly string[]): Promise<number | undefined> {
  return new Promise((resolve) => {
    const child = spawn('du', ['-skx', '--', ...folders], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: countMsMax,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    child.once('error', () => resolve(undefined));
    // It ends with 1 when a file went away while it counted; what it says is good.
    child.once('close', () => {
      const sizes = [...text.matchAll(/^(\d+)\t/gm)].map(([, size]) => Number(size) * 1_024);
      resolve(sizes.length === folders.length ? sizes.reduce((sum, size) => sum + size, 0) : undefined);
    });
  });
}

const inMib = (bytes: number) => `${Math.round(bytes / mib)} MiB`;

/** Watches until it is stopped or has called `onFull`. What is returned stops it. */
export function watchDisk(options: DiskWatchOptions): () => void {
  const { folders, bytesMax, freeBytesMin, everyMs = everyMsUsual, onFull } = options;
  const [first = '/'] = folders;
  let stopped = false;
  let timer: NodeJS.Timeout;
  let counted = { bytes: 0, freeThen: 0, at: Number.NEGATIVE_INFINITY, tookMs: 0 };

  /** Counting can wait while the file system has not lost half of what the folders may still grow by. */
  function mustCount(free: number): boolean {
    const sinceMs = performance.now() - counted.at;
    if (sinceMs < counted.tookMs * restFactor) return false;
    return sinceMs > countAtLeastEveryMs || counted.freeThen - free > (bytesMax - counted.bytes) / 2;
  }

  async function look(): Promise<string | undefined> {
    const { bavail, bsize } = await statfs(first);
    const free = bavail * bsize;
    if (free < freeBytesMin) return `The disk has less than ${inMib(freeBytesMin)} left.`;
    if (!mustCount(free)) return undefined;
    const at = performance.now();
    const bytes = await countBytes(folders);
    counted = { bytes: bytes ?? counted.bytes, freeThen: free, at, tookMs: performance.now() - at };
    return bytes !== undefined && bytes > bytesMax
      ? `Its workspace and home hold more than ${inMib(bytesMax)}.`
      : undefined;
  }

  const next = () => {
    timer = setTimeout(() => {
      look().then(
        (sentence) => {
          if (stopped) return;
          if (sentence === undefined) return next();
          stopped = true;
          onFull(sentence);
        },
        // A folder that is gone is full no more.
        () => stopped || next(),
      );
    }, everyMs).unref();
  };
  next();

  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
