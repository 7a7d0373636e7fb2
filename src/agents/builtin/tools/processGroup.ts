// The processes that a command started and that did not leave its group: whether some live, and how they are ended.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** Between SIGTERM, which lets a program tidy up, and SIGKILL. */
const tidyMs = 1_000;
/** What waits for a disk cannot be killed. */
const goneMsMax = 2_000;
const askAgainMs = 10;

const stateField = 0;
const groupField = 2;

/** State and group of each process; undefined where the system does not tell. */
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

/** Sends the signal to all of the group; 0 only asks. False: there is nobody in it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether some process of the group runs. The remains of ended ones, which nobody may have fetched, do not count. */
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

/** Settles when nothing of the group runs, or what does cannot be killed. */
export async function endGroup(group: number): Promise<void> {
  signalGroup(group, 'SIGTERM');
  // Who was stopped cannot end.
  signalGroup(group, 'SIGCONT');
  if (await groupEnds(group, tidyMs)) return;
  signalGroup(group, 'SIGKILL');
  await groupEnds(group, goneMsMax);
}
