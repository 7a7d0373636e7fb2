// Paths of the workspace as clients and agents write them: below `/workspace`, whatever the sandbox.
import { sandboxPaths } from '../sandbox/sandboxPaths.ts';

const { workspace: root } = sandboxPaths;

export function workspacePath(name: string): string {
  return `${root}/${name}`;
}

/** `/workspace/a.txt` is `a.txt`, and `/workspace` is empty. Other paths are not changed. */
export function withoutWorkspace(path: string): string {
  if (path === root) return '';
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1).replace(/^\/+/, '') : path;
}
