// Keeps git from waiting for named pipes. Git opens files such as .gitignore wherever it finds them, and opening a pipe
// waits for somebody who writes to it.
import { closeSync, constants, type Dirent, openSync, readdirSync } from 'node:fs';

/** Entries to go through; if there are more, pipes may be missed, and the inspection ends at its time limit. */
const entriesMax = 500_000;
const pipesMax = 1_000;
const everyMs = 20;

const slash = Buffer.from('/');

function entriesOf(folder: Buffer): Dirent<Buffer>[] {
  try {
    // In bytes: names need not be text.
    return readdirSync(folder, { withFileTypes: true, encoding: 'buffer' });
  } catch {
    // Nobody else can read it either.
    return [];
  }
}

function findPipes(root: string): Buffer[] {
  const found: Buffer[] = [];
  const folders = [Buffer.from(root)];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of entriesOf(folder)) {
      if (++count > entriesMax || found.length >= pipesMax) return found;
      const place = Buffer.concat([folder, slash, entry.name]);
      if (entry.isFIFO()) found.push(place);
      else if (entry.isDirectory()) folders.push(place);
    }
  return found;
}

/** Opens a pipe for writing if somebody waits to read it, and closes it at once: the reader then finds it empty. */
function release(pipe: Buffer): void {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW));
  } catch {
    // Nobody waits.
  }
}

/** While `work` runs, whoever waits to read one of the pipes in a folder finds it empty. */
export async function withoutPipes<Result>(root: string, work: () => Promise<Result>): Promise<Result> {
  const pipes = findPipes(root);
  if (pipes.length === 0) return work();
  const timer = setInterval(() => pipes.forEach(release), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
