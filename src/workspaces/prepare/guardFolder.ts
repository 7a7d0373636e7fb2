// Which parts of a local folder are read-only for an agent: those that programs outside of the sandbox act on, such as
// Git, editors and shells. For names that do not exist, an empty folder is created, so that it can be covered; Git
// ignores empty folders, and they are removed when the run ends.
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { guardedNames } from '../../git/guardedPaths.ts';
import { replaceFile } from '../../process/durableFiles.ts';

const topNames: readonly string[] = ['.git', ...guardedNames];
/** Existing ones in subfolders are looked for that deep, among so many entries. */
const depthMax = 4;
const entriesMax = 20_000;
const nestedMax = 200;
const skipped: ReadonlySet<string> = new Set(['node_modules', '.venv', 'target', 'vendor']);

export interface GuardedFolder {
  /** Relative to the folder. */
  readonly readOnly: readonly string[];
  /** Removes the empty folders that were created. */
  release(): void;
}

/** The parts of subfolders that exist. An agent can still rename a folder that contains one. */
function findNested(folder: string): string[] {
  const names = new Set(topNames);
  const found: string[] = [];
  const waiting: [path: string, depth: number][] = [['', 0]];
  let left = entriesMax;
  for (let next = waiting.pop(); next !== undefined && left > 0; next = waiting.pop()) {
    const [path, depth] = next;
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      left -= 1;
      const own = path === '' ? entry.name : `${path}/${entry.name}`;
      const isKnown = names.has(entry.name.toLowerCase());
      if (isKnown && depth > 0 && !entry.isSymbolicLink()) found.push(own);
      else if (entry.isDirectory() && !isKnown && depth < depthMax && !skipped.has(entry.name))
        waiting.push([own, depth + 1]);
      if (left <= 0 || found.length >= nestedMax) return found;
    }
  }
  return found;
}

function readRecord(file: string): string[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as string[];
  } catch {
    return [];
  }
}

/** Never removes anything but an empty folder. */
function removeEmpty(folder: string, names: readonly string[]): void {
  for (const name of names)
    try {
      rmdirSync(join(folder, name));
    } catch {
      // Somebody has put something there, or has removed it.
    }
}

/**
 * `record` is a file of the service with the empty folders that were created, for a run after a crash. Returns a
 * sentence if a part cannot be protected.
 */
export function guardFolder(folder: string, record: string): GuardedFolder | { readonly fault: string } {
  const kindOf = (name: string) => lstatSync(join(folder, name), { throwIfNoEntry: false });
  const link = topNames.find((name) => kindOf(name)?.isSymbolicLink());
  if (link !== undefined)
    return { fault: `${link} in the folder is a symbolic link, which cannot be protected from the agent.` };
  const missing = topNames.filter((name) => kindOf(name) === undefined);
  // Those of a run that crashed stay where they are: its agent may still run, and must not find them gone.
  const created = [...new Set([...missing, ...readRecord(record)])];
  replaceFile(record, JSON.stringify(created));
  for (const name of missing) mkdirSync(join(folder, name), { mode: 0o755 });
  return {
    readOnly: [...topNames, ...findNested(folder)],
    release: () => {
      removeEmpty(folder, created);
      rmSync(record, { force: true });
    },
  };
}
