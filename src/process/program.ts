// Where the program's own files are: the sources, or what was built from them.

const isBuilt = import.meta.url.endsWith('.js');
/** A build puts this file into one at the top of `dist`. */
const root = new URL(isBuilt ? './' : '../', import.meta.url);

/** A file of the program, named by its path below `src`. */
export function programFile(path: string): URL {
  return new URL(isBuilt ? path.replace(/\.ts$/, '.js') : path, root);
}

/** A file that only a build makes, named by its path in `dist`. It may not be there. */
export function builtFile(path: string): URL {
  return new URL(isBuilt ? path : `../dist/${path}`, root);
}

/**
 * The command as the user typed it, for messages that suggest one. It may be a path, because `parley` need not be in
 * the PATH.
 */
export const commandName = /^[\w./@-]+$/.exec(process.env['PARLEY_COMMAND'] ?? '')?.[0] ?? 'parley';
