// Arranges changed files as a tree, in which folders that contain only one folder are joined with it.
import type { GitChange } from '../../../../src/client/parley.ts';

export type TreeRow =
  | { readonly kind: 'folder'; readonly path: string; readonly name: string; readonly depth: number }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly name: string;
      readonly depth: number;
      readonly status: string;
    };

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: GitChange[];
}

function emptyFolder(): Folder {
  return { folders: new Map(), files: [] };
}

function insert(root: Folder, change: GitChange): void {
  let folder = root;
  for (const name of change.path.split('/').slice(0, -1)) {
    const next = folder.folders.get(name) ?? emptyFolder();
    folder.folders.set(name, next);
    folder = next;
  }
  folder.files.push(change);
}

function* rowsOf(folder: Folder, parent: string, depth: number): Generator<TreeRow> {
  for (const [first, child] of folder.folders) {
    let [name, inner] = [first, child];
    while (inner.files.length === 0 && inner.folders.size === 1)
      for (const [next, only] of inner.folders) [name, inner] = [`${name}/${next}`, only];
    yield { kind: 'folder', path: parent + name, name, depth };
    yield* rowsOf(inner, `${parent}${name}/`, depth + 1);
  }
  for (const { path, status } of folder.files)
    yield { kind: 'file', path, name: path.slice(path.lastIndexOf('/') + 1), depth, status };
}

/** Folders come before files; both keep the order of the list. */
export function fileTree(changes: readonly GitChange[]): TreeRow[] {
  const root = emptyFolder();
  for (const change of changes) insert(root, change);
  return [...rowsOf(root, '', 0)];
}
