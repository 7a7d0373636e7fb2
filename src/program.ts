// Where the program's own files are: beside this one, as sources or built from them.

/** A file of the program, named by its path among the sources. */
export function programFile(path: string): URL {
  const built = import.meta.url.endsWith('.js');
  return new URL(built ? path.replace(/\.ts$/, '.js') : path, import.meta.url);
}
