// Processes of the host, known by number and start time, so that a number that was given out again is never mistaken.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface KnownProcess {
  readonly pid: number;
  /** In ticks since the machine started; null where the system does not tell. */
  readonly startedAt: string | null;
}

const checkAgainMs = 5;
/** More are not looked for. */
const descendantsMax = 10_000;
const stateField = 0;
const startTimeField = 19;

/** The fields of /proc/…/stat after the name, which may hold anything. Undefined: there is no such process. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

export function knownProcess(pid: number): KnownProcess {
  return { pid, startedAt: statOf(pid)?.[startTimeField] ?? null };
}

/** Whether it still runs: the same process, and no remains that wait for their parent. */
export function isRunning({ pid, startedAt }: KnownProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat[startTimeField] === startedAt && !'ZX'.includes(stat[stateField] ?? '');
}

/** Whether its number is another process by now. Not so while something of its group is left. */
export function isReplaced({ pid, startedAt }: KnownProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat[startTimeField] !== startedAt;
}

/** Its children as of now; none where the system does not tell. */
export function childrenOf(pid: number): KnownProcess[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '))
      .filter((child) => child !== '')
      .map((child) => knownProcess(Number(child)));
  } catch {
    return [];
  }
}

/** What it has started, and what that has; none where it has ended: then nobody can tell. */
export function descendantsOf(leader: KnownProcess): KnownProcess[] {
  const found = isRunning(leader) ? childrenOf(leader.pid) : [];
  // It grows as it is walked through.
  for (const { pid } of found) if (found.length < descendantsMax) found.push(...childrenOf(pid));
  return found;
}

/** A negative number is that of a group. False: there was none. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Kills a process and its group, if it leads one. False: it was gone. */
export function killGroup(pid: number): boolean {
  return send(-pid, 'SIGKILL');
}

/** Kills the group of a process and all that it has started, in whatever groups; also `known` ones. Returns the latter. */
export function killTree(leader: KnownProcess, known: readonly KnownProcess[] = []): KnownProcess[] {
  // Or else it could start more while they are looked for.
  send(-leader.pid, 'SIGSTOP');
  const found = [...known, ...descendantsOf(leader)];
  killGroup(leader.pid);
  for (const one of found.filter(isRunning)) if (!killGroup(one.pid)) send(one.pid, 'SIGKILL');
  return found;
}

/** Settles when none of them runs, or after the bound: then true is not what it says. */
export async function allGone(processes: readonly KnownProcess[], withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (processes.some(isRunning)) {
    if (performance.now() > end) return false;
    await wait(checkAgainMs);
  }
  return true;
}

/** Whether some process has the number, be it the one that was meant or not. */
export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Where the system tells nothing of its processes, and a number says little. */
export const unknownSpace = 'unknown';

/** Tells processes with the same number on different machines, starts and namespaces apart. */
export function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return unknownSpace;
  }
}
