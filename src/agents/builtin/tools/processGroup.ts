// The process group of a command: whether a process is alive, and how all are ended.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** The time between SIGTERM, which lets a program clean up, and SIGKILL. */
const tidyMs = 1_000;
/** The time limit for SIGKILL, because a process that waits for a disk cannot be killed. */
const goneMsMax = 2_000;
const askAgainMs = 10;

const stateField = 0;
const groupField = 2;

/** Returns the state and the group of each process; undefined if the system does not provide it. */
function listProcesses(): string[][] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
          return text.slice(text.lastIndexOf(')') + 2).split(' ');
        } catch {
          return [];
        }
      });
  } catch {
    return undefined;
  }
}

/** Sends the signal to the whole group; 0 only checks it. Returns false if the group is empty. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process of the group is running. Zombies do not count. */
export function groupLives(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  const processes = listProcesses();
  if (processes === undefined || processes.length === 0) return true;
  return processes.some(
    (fields) => fields[groupField] === String(group) && !'ZX'.includes(fields[stateField] ?? 'X'),
  );
}

async function groupEnds(group: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (groupLives(group)) {
    if (performance.now() > end) return false;
    await wait(askAgainMs);
  }
  return true;
}

/** Resolves when no process of the group is running, or the rest cannot be killed. */
export async function endGroup(group: number): Promise<void> {
  signalGroup(group, 'SIGTERM');
  // A stopped process would not handle SIGTERM.
  signalGroup(group, 'SIGCONT');
  if (await groupEnds(group, tidyMs)) return;
  signalGroup(group, 'SIGKILL');
  await groupEnds(group, goneMsMax);
}
