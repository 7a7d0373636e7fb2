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

/** User and system time of a process, then those of its ended children; NaN if the system does not provide it. */
function ticksOf(pid: number): readonly number[] {
  try {
    // After the name in brackets, which may contain anything, they are the fields from the 12th on.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).map(Number);
  } catch {
    return [Number.NaN, Number.NaN, Number.NaN, Number.NaN];
  }
}

/** The CPU time of a process so far, all threads; NaN if the system does not provide it. */
export function cpuUs(pid: number): number {
  const [user = 0, system = 0] = ticksOf(pid);
  return (user + system) * usPerTick;
}

/** The process that has started this one; NaN if the system does not provide it. */
export function parentOf(pid: number): number {
  try {
    // The parent is the second field after the name.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]);
  } catch {
    return Number.NaN;
  }
}

/**
 * The CPU time of a process and of those that it has started, also if they have ended; NaN if the system does not
 * provide it.
 */
export function familyCpuUs(pid: number): number {
  const own = ticksOf(pid).reduce((sum, ticks) => sum + ticks, 0) * usPerTick;
  // One may have ended since it was listed.
  const children = childrenOf(pid).map(cpuUs).filter(Number.isFinite);
  return children.reduce((sum, us) => sum + us, own);
}

/** The processes that a process has started and that run now; empty if the system does not provide it. */
export function childrenOf(pid: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((child) => parentOf(child) === pid);
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
