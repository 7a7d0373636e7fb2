// Shortens paths of the sandbox to paths in the workspace.

/** The workspace in a sandbox, and without one. */
const workspace = /^(?:\/(?:[^/]+\/)*?conversations\/[1-9]\d*)?\/workspace\/(?=.)/;

export function shortPath(path: string): string {
  return path.replace(workspace, '');
}
