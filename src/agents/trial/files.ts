// Files of a trial, and how they are read: what is there was made by the agent, a link could lead to any file of the
// host, and a file be of any size.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const written = 'written by the agent';
/** With whatever blanks an agent adds. */
const fileBytesMax = 1_024;

/** What the agent writes, and what `seed.txt` holds from the start. */
export const writtenText = written;
export const editedText = 'changed by the agent';

/**
 * What each act leaves behind. The file that is edited is one that the agent has written: some insist on knowing it.
 */
const effects = {
  copied: { file: 'copied.txt', texts: [writtenText] },
  written: { file: 'written.txt', texts: [writtenText, editedText] },
  edited: { file: 'written.txt', texts: [editedText] },
} as const satisfies Record<string, { file: string; texts: readonly string[] }>;
export type Effect = keyof typeof effects;

/** The acts whose effect can be seen. */
export function seenEffects(workspace: string): Effect[] {
  return (Object.keys(effects) as Effect[]).filter((name) => {
    const { file, texts } = effects[name];
    const found = readTrialFile(workspace, file);
    return texts.some((text) => text === found);
  });
}
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
