// Paths are told as they are in the sandbox; people know them from the root of their workspace.

/** As a sandbox names it, and as it is called without one. Nothing else is taken off a path. */
const workspace = /^(?:\/(?:[^/]+\/)*?conversations\/[1-9]\d*)?\/workspace\/(?=.)/;

export function shortPath(path: string): string {
  return path.replace(workspace, '');
}
