// Processes that outlive a round: none may. They are found by the data folder, which all of them were told of.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const graceMs = 3_000;
const lookMs = 100;

function list(folder: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        const told = `${command} ${readFileSync(`/proc/${name}/environ`, 'utf8')}`;
        return command !== '' && told.includes(folder) ? [{ pid: Number(name), command }] : [];
      } catch {
        // It has ended meanwhile, or is somebody else's.
        return [];
      }
    });
}

/** What is left of the processes that know this folder, after a moment of grace. They are ended. */
export async function findLeftBehind(folder: string): Promise<string[]> {
  const endMs = performance.now() + graceMs;
  while (list(folder).length > 0 && performance.now() < endMs) await wait(lookMs);
  const left = list(folder);
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  return left.map(({ pid, command }) => `process ${pid} (${command.slice(0, 200)})`);
}
