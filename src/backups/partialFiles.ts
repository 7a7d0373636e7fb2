// Files that are not complete yet have names of their own. In a container every process has the same id, so that the id
// alone does not tell a file of this process from one that a killed process has left.
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../process/alive.ts';

const randomSuffixBytes = 6;
const partialEnd = /\.(\d+)(?:-[0-9a-f]+)?\.partial$/;

/** A name that no other process uses, even if it has the same id. */
export function partialNameOf(file: string): string {
  return `${file}.${process.pid}-${randomBytes(randomSuffixBytes).toString('hex')}.partial`;
}

/** The file that a partial one would have become; undefined if it is not a partial one. */
export function fileOfPartial(name: string): string | undefined {
  return partialEnd.test(name) ? name.replace(partialEnd, '') : undefined;
}

/** Removes what killed processes have left of this file. Only one at a time may write it in this process. */
export function removeAbandoned(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    const [, id] = partialEnd.exec(name) ?? [];
    if (id === undefined || fileOfPartial(name) !== basename(file)) continue;
    if (Number(id) === process.pid || !isAlive(Number(id)))
      rmSync(join(dirname(file), name), { force: true });
  }
}
