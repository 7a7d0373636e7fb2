// Files in a working tree that programs of its user act on by themselves: editors, shells and Git hook managers. Whoever
// can write them can run commands as the user, so an agent must not change them unseen.

/** Names of files and folders, at any depth and in lower case. */
export const guardedNames: readonly string[] = [
  ...['.vscode', '.idea', '.fleet', '.zed', '.devcontainer', '.husky', '.githooks'],
  ...['.envrc', '.mise.toml', 'mise.toml', '.tool-versions', '.pre-commit-config.yaml', 'lefthook.yml'],
  ...['.nvim.lua', '.nvimrc', '.exrc', '.vimrc', '.dir-locals.el'],
];

const guarded: ReadonlySet<string> = new Set(guardedNames);

/** Whether a path with slashes is such a file, or in such a folder. */
export function isGuardedPath(path: string): boolean {
  return path.split('/').some((name) => guarded.has(name.toLowerCase()));
}
