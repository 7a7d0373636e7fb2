// Where the program's own files are: beside this one, as sources or built from them.

/** A file of the program, named by its path among the sources. */
export function programFile(path: string): URL {
  const built = import.meta.url.endsWith('.js');
  return new URL(built ? path.replace(/\.ts$/, '.js') : path, import.meta.url);
}

/** A file that only a build makes, named by its path in `dist`. It may not be there. */
export function builtFile(path: string): URL {
  return new URL(import.meta.url.endsWith('.js') ? path : `../dist/${path}`, import.meta.url);
}

/**
 * The command as the user typed it, for messages that suggest one. It may be a path, because `parley` need not be in
 * the PATH.
 */
export const commandName = /^[\w./@-]+$/.exec(process.env['PARLEY_COMMAND'] ?? '')?.[0] ?? 'parley';
