// A clock that can be set: libfaketime moves the time of one process by what a file says. Where it is not installed
// clocks are not set, and the run says so.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ClockFile {
  /** What makes a process follow this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** Seconds ahead of the real time. */
  set(seconds: number): void;
}

function findLibrary(): string | undefined {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib'].filter((folder) => existsSync(folder));
  const candidates = folders.flatMap((folder) => [
    join(folder, 'faketime'),
    ...readdirSync(folder)
      .filter((name) => name.endsWith('-linux-gnu'))
      .map((name) => join(folder, name, 'faketime')),
  ]);
  return candidates.map((folder) => join(folder, 'libfaketimeMT.so.1')).find((file) => existsSync(file));
}

export function hasSettableClock(): boolean {
  return findLibrary() !== undefined;
}

/** Undefined where libfaketime is missing. */
export function createClockFile(folder: string): ClockFile | undefined {
  const library = findLibrary();
  if (library === undefined) return undefined;
  const file = join(folder, 'clock');
  const set = (seconds: number) => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  set(0);
  return {
    set,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      // Timers and leases count on a clock that nobody sets.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}
