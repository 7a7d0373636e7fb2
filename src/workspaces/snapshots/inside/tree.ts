// Finds the files of a folder for an archive, in bytes, without following links, and within bounds.
import { accessSync, constants, lstatSync, type Stats } from 'node:fs';
import { entriesOf } from '../../read/inside/tree.ts';
import type { Budget, Entry } from './budget.ts';
import { byteText } from './sections.ts';

/** Entries to look at, whatever is stored of them. */
const visitedMax = 2_000_000;
const depthMax = 200;

/** A path as a string in which each character is a byte. */
export const toPath = (root: string, name: string) =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, byteText)]);

export function statsOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

interface PickedEntry extends Entry {
  readonly isFolder: boolean;
}

export interface Picker {
  readonly budget: Budget;
  /** Precedes names that are shown. */
  readonly label: string;
}

/** Files, links and folders can be restored; sockets, pipes and devices are nothing without their programs. */
function sizeOf(stats: Stats): number | undefined {
  if (stats.isFile()) return stats.size;
  return stats.isSymbolicLink() || stats.isDirectory() ? 0 : undefined;
}

/** Undefined if this entry is not to be stored; otherwise it counts. */
export function pick(root: string, name: string, { budget, label }: Picker): PickedEntry | undefined {
  const path = toPath(root, name);
  const stats = statsOf(path);
  const bytes = stats && sizeOf(stats);
  if (stats === undefined || bytes === undefined) return undefined;
  if (stats.isFile() && !isReadable(path)) {
    budget.leaveOut(label + name, 'unreadable', bytes);
    return undefined;
  }
  return budget.admit(label + name, bytes) ? { name, bytes, isFolder: stats.isDirectory() } : undefined;
}

function childrenOf(root: string, folder: string, { budget, label }: Picker): string[] {
  const children: string[] = [];
  try {
    for (const { name } of entriesOf<Buffer>(toPath(root, folder), 'buffer')) {
      children.push(name.toString(byteText));
      if (children.length > visitedMax) break;
    }
  } catch {
    // It cannot be read, or is gone.
    budget.leaveOut(`${label}${folder}/`, 'unreadable');
  }
  return children.sort((a, b) => (a < b ? 1 : -1));
}

/** Everything below a folder (`''` for the root itself), in a fixed order, except for what is skipped. */
export function* pickTree(
  root: string,
  folder: string,
  picker: Picker,
  isSkipped: (name: string) => boolean = () => false,
): Generator<Entry> {
  const waiting = childrenOf(root, folder, picker).map(
    (name) => [folder === '' ? name : `${folder}/${name}`, 1] as [name: string, depth: number],
  );
  let visited = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, depth] = next;
    if (isSkipped(name)) continue;
    visited += 1;
    if (visited > visitedMax || picker.budget.isFull()) {
      // What is left is not looked at.
      picker.budget.leaveOut(picker.label + name, 'too_many');
      if (visited > visitedMax) return;
      continue;
    }
    const picked = pick(root, name, picker);
    if (picked === undefined) continue;
    yield picked;
    if (!picked.isFolder) continue;
    if (depth >= depthMax) picker.budget.leaveOut(`${picker.label}${name}/`, 'too_deep');
    else for (const child of childrenOf(root, name, picker)) waiting.push([`${name}/${child}`, depth + 1]);
  }
}
