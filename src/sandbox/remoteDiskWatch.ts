// Keeps a run on another machine within the limits on its files, by counting them where they are. How full that machine is,
// is the business of its cluster.
import { kib } from '../validation/schema.ts';
import { type DiskLimits, manyFilesSentence, tooLargeSentence, uncountableSentence } from './diskWatch.ts';
import { runToEnd } from './runToEnd.ts';
import type { OpenSandbox } from './sandbox.ts';

const everyMsDefault = 15_000;
const countMsMax = 30_000;
/** This many timeouts in a row count as too many files. */
const lateMax = 3;
/** The pause between counts, as a multiple of how long the last one took. */
const restFactor = 10;
const outputBytesMax = 64 * kib;

/** Both at once, because each program that is started there takes a moment. */
const script = 'du -skx -- "$@"; du -sx --inodes -- "$@"';

interface RemoteDiskWatchOptions extends Pick<DiskLimits, 'bytesMax' | 'filesMax'> {
  readonly sandbox: OpenSandbox;
  /** Called with the size of workspace and home after each count. */
  readonly onBytes?: (bytes: number) => void;
  readonly everyMs?: number;
  /** How long one count may take. */
  readonly countMs?: number;
  /** Called once, with the reason for the user. */
  readonly onFull: (sentence: string) => void;
}

/** Undefined if it failed, such as because the sandbox is closed. */
async function count(
  { sandbox, countMs = countMsMax }: RemoteDiskWatchOptions,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly files: number } | 'late' | undefined> {
  const { workspace, home } = sandbox.paths;
  const argv: [string, ...string[]] = ['sh', '-c', script, 'sh', workspace, home];
  const bounds = { timeoutMs: countMs, signal, outputBytesMax };
  const program = { argv, env: { LC_ALL: 'C' }, offline: true };
  const { stdout, bound } = await runToEnd(sandbox, program, bounds);
  if (bound === 'time') return 'late';
  const [kibs = 0, moreKibs = 0, files, moreFiles = 0] = [...stdout.toString().matchAll(/^(\d+)\t/gm)].map(
    ([, size]) => Number(size),
  );
  // The `du` of BusyBox counts no files.
  return { bytes: (kibs + moreKibs) * kib, files: (files ?? 0) + moreFiles };
}

/** Watches until it is stopped or has called `onFull`. Returns a function that stops it. */
export function watchRemoteDisk(options: RemoteDiskWatchOptions): () => void {
  const { bytesMax, filesMax, onBytes, onFull, everyMs = everyMsDefault, countMs = countMsMax } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let late = 0;
  let timer: NodeJS.Timeout;

  async function findFault(): Promise<string | undefined> {
    const found = await count(options, signal).catch(() => undefined);
    late = found === 'late' ? late + 1 : 0;
    if (late >= lateMax) return uncountableSentence(countMs);
    if (found === undefined || found === 'late' || signal.aborted) return undefined;
    onBytes?.(found.bytes);
    if (found.bytes > bytesMax) return tooLargeSentence(bytesMax);
    return found.files > filesMax ? manyFilesSentence(filesMax) : undefined;
  }

  const next = (pauseMs: number) => {
    timer = setTimeout(async () => {
      const since = performance.now();
      const sentence = await findFault();
      if (signal.aborted) return;
      if (sentence === undefined) next(Math.max(everyMs, (performance.now() - since) * restFactor));
      else onFull(sentence);
    }, pauseMs).unref();
  };
  next(everyMs);

  return () => {
    stopping.abort();
    clearTimeout(timer);
  };
}
