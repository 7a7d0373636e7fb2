// The files that a trial creates and checks. They are read carefully, because the agent may have replaced them with
// links or made them huge.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const written = 'written by the agent';
/** Leaves room for whitespace that an agent may add. */
const fileBytesMax = 1_024;

/** The text that the agent writes, which is also the initial content of `seed.txt`. */
export const writtenText = written;
export const editedText = 'changed by the agent';

/**
 * The effect of each action. The edited file is one that the agent wrote, because some agents only edit files they
 * know.
 */
const effects = {
  copied: { file: 'copied.txt', texts: [writtenText] },
  written: { file: 'written.txt', texts: [writtenText, editedText] },
  edited: { file: 'written.txt', texts: [editedText] },
} as const satisfies Record<string, { file: string; texts: readonly string[] }>;
export type Effect = keyof typeof effects;

/** Returns the effects that are visible in the workspace. */
export function seenEffects(workspace: string): Effect[] {
  return (Object.keys(effects) as Effect[]).filter((name) => {
    const { file, texts } = effects[name];
    const found = readTrialFile(workspace, file);
    return texts.some((text) => text === found);
  });
}
/** The file that the turn with rejected requests would create. */
export const rejectedFile = 'rejected.txt';

/** Returns undefined if there is no such regular file. */
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
