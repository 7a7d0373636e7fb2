// The paths inside a sandbox, and the folders of the host that must stay hidden.
import { isAbsolute, relative } from 'node:path';
import type { SandboxPaths } from './sandbox.ts';

/** For every sandbox with a file system of its own. */
export const sandboxPaths: SandboxPaths = { workspace: '/workspace', home: '/home/agent' };

export function contains(folder: string, inner: string): boolean {
  const way = relative(folder, inner);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** The hidden folders that would be visible. */
export function hiddenWithin(hidden: readonly string[], seen: readonly string[]): string[] {
  return hidden.filter((folder) => seen.some((one) => contains(one, folder)));
}
