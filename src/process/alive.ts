// Whether another process is still running.
import { readFileSync } from 'node:fs';

/** Where no process reaps others, such as in a container, an ended one keeps its pid as a zombie. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    // The process belongs to another user, but it exists.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
