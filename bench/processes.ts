// Reads what the operating system knows about a process.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const usPerTick = 10_000;

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const status = `/proc/${pid}/status`;
  const text = existsSync(status)
    ? (/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'utf8'))?.[1] ?? '')
    : spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  return Number(text) * 1_024;
}

/** The CPU time of a process so far, all threads; NaN if the system does not provide it. */
export function cpuUs(pid: number): number {
  try {
    // After the name in brackets, which may contain anything, user and system time are the 12th and 13th field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * usPerTick;
  } catch {
    return Number.NaN;
  }
}

/** The processes that a process has started and that run now; empty if the system does not provide it. */
export function childrenOf(pid: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((child) => {
    try {
      // The parent is the second field after the name.
      return Number(readFileSync(`/proc/${child}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]) === pid;
    } catch {
      return false;
    }
  });
}

/** A monotonic clock that all processes of the machine share. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The limit of open files of a process. Node raises it to the hard limit by itself. */
export function openFilesMax(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { hard?: unknown } } };
  const hard = report.userLimits?.open_files?.hard;
  return typeof hard === 'number' ? hard : Number.POSITIVE_INFINITY;
}
