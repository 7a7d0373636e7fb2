// Processes of the host, identified by pid and start time, so that a reused pid is never mistaken for the old process.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface KnownProcess {
  readonly pid: number;
  /** In ticks since boot; null if the system does not report it. */
  readonly startedAt: string | null;
}

const checkAgainMs = 5;
/** More descendants are not searched for. */
const descendantsMax = 10_000;
const stateField = 0;
const startTimeField = 19;

/** The fields of /proc/…/stat after the name, which may contain anything. Undefined if there is no such process. */
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

/** Whether the same process still runs and is not a zombie. */
export function isRunning({ pid, startedAt }: KnownProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat[startTimeField] === startedAt && !'ZX'.includes(stat[stateField] ?? '');
}

/** Whether its pid belongs to another process now. That cannot happen while its process group exists. */
export function isReplaced({ pid, startedAt }: KnownProcess): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat[startTimeField] !== startedAt;
}

/** Its current children; none if the system does not report them. */
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

/** Its descendants; none if it has ended, because they cannot be found then. */
export function descendantsOf(leader: KnownProcess): KnownProcess[] {
  const found = isRunning(leader) ? childrenOf(leader.pid) : [];
  // The list grows during the loop.
  for (const { pid } of found) if (found.length < descendantsMax) found.push(...childrenOf(pid));
  return found;
}

/** A negative pid is a process group. Returns false if there was none. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Kills a process and the group that it leads. Returns false if it was gone. */
export function killGroup(pid: number): boolean {
  return send(-pid, 'SIGKILL');
}

/** Kills the group of a process and all its descendants in whatever groups, and `known` ones. Returns the latter. */
export function killTree(leader: KnownProcess, known: readonly KnownProcess[] = []): KnownProcess[] {
  // It could start more processes during the search otherwise.
  send(-leader.pid, 'SIGSTOP');
  const found = [...known, ...descendantsOf(leader)];
  killGroup(leader.pid);
  for (const one of found.filter(isRunning)) if (!killGroup(one.pid)) send(one.pid, 'SIGKILL');
  return found;
}

/** Resolves with true when none of them runs, or with false at the timeout. */
export async function allGone(processes: readonly KnownProcess[], withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (processes.some(isRunning)) {
    if (performance.now() > end) return false;
    await wait(checkAgainMs);
  }
  return true;
}

/** Whether any process has this pid, the right one or not. */
export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** For systems that do not describe their processes, where a pid alone says little. */
export const unknownSpace = 'unknown';

/** Distinguishes equal pids on different machines, boots and namespaces. */
export function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return unknownSpace;
  }
}
