// The places of a sandbox as programs inside see it, and what of the host they must not see whatever they may read.
import { isAbsolute, relative } from 'node:path';
import type { SandboxPaths } from './sandbox.ts';

/** Of every sandbox with a file system of its own. */
export const sandboxPaths: SandboxPaths = { workspace: '/workspace', home: '/home/agent' };

export function contains(folder: string, inner: string): boolean {
  const way = relative(folder, inner);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** Those of the hidden folders that could be seen. */
export function hiddenWithin(hidden: readonly string[], seen: readonly string[]): string[] {
  return hidden.filter((folder) => seen.some((one) => contains(one, folder)));
}
