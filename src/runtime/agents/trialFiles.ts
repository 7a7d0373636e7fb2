// Files of a trial, and how they are read: what is there was made by the agent, a link could lead to any file of the
// host, and a file be of any size.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const written = 'written by the agent';
/** With whatever blanks an agent adds. */
const fileBytesMax = 1_024;

/** The text that each has when the agent has done its work. */
export const trialFiles = {
  'written.txt': written,
  'copied.txt': written,
  'seed.txt': 'changed by the agent',
} as const;

/** What `seed.txt` holds at first. */
export const seedText = written;
/** What the turn would make in which everything is rejected. */
export const rejectedFile = 'rejected.txt';

/** Undefined where there is no such file, or none of ours. */
export function readTrialFile(workspace: string, name: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(join(workspace, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = Buffer.alloc(fileBytesMax);
    const size = fstatSync(file).isFile() ? readSync(file, found) : 0;
    return found.toString('utf8', 0, size).trim();
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
