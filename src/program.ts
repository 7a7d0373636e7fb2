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
 * What people type to run this program, for messages that name a command: as the script beside the sources was called,
 * since nothing of that name need be in the PATH.
 */
export const commandName = /^[\w./@-]+$/.exec(process.env['PARLEY_COMMAND'] ?? '')?.[0] ?? 'parley';
