// The location of the program's own files: the sources, or the build.

import { fileURLToPath } from 'node:url';

/** Whether this is the build rather than the sources. */
export const isBuilt = import.meta.url.endsWith('.js');
/** The build bundles this file into one at the top of `dist`. */
const root = new URL(isBuilt ? './' : '../', import.meta.url);

/** The folder of the installation: the clone, or the package. */
export const programRoot = fileURLToPath(new URL(isBuilt ? '../' : '../../', import.meta.url));

/** A file of the program, named by its path below `src`. */
export function programFile(path: string): URL {
  return new URL(isBuilt ? path.replace(/\.ts$/, '.js') : path, root);
}

/** A file that only the build creates, by its path in `dist`. It may not exist. */
export function builtFile(path: string): URL {
  return new URL(isBuilt ? path : `../dist/${path}`, root);
}

/**
 * The command as the user typed it, for messages that suggest one. It may be a path, because `parley` need not be in
 * the PATH.
 */
export const commandName = /^[\w./@ -]+$/.exec(process.env['PARLEY_COMMAND'] ?? '')?.[0] ?? 'parley';
