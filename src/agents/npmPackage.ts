// Reads npm packages that are installed: whose program a file is, and which program a package has.
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const packageDepthMax = 8;

export interface Package {
  readonly folder: string;
  readonly name: string;
  readonly version: string | undefined;
  /** The paths of its programs within the package, by command. */
  readonly bins: ReadonlyMap<string, string>;
}

/** A package may name one program, which then has the name of the package without its scope. */
function binsOf(name: string, bin: unknown): Map<string, string> {
  const listed = typeof bin === 'object' && bin !== null ? bin : { [name.replace(/^@.*\//, '')]: bin };
  const bins = Object.entries(listed).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return new Map(bins);
}

/** Returns undefined if the folder is not a package. */
export async function readPackage(folder: string): Promise<Package | undefined> {
  try {
    const { name, version, bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    // A package.json without a name only sets how the files around it are loaded.
    if (typeof name !== 'string') return undefined;
    return {
      folder,
      name,
      version: typeof version === 'string' ? version : undefined,
      bins: binsOf(name, bin),
    };
  } catch {
    return undefined;
  }
}

async function lists({ folder, bins }: Package, file: string): Promise<boolean> {
  const paths = [...bins.values()].map((bin) => realpath(join(folder, bin)).catch(() => undefined));
  const files = await Promise.all(paths);
  return files.includes(file);
}

/**
 * Returns the npm package of a file: the installed one that contains it, or one that lists it as its program. Another
 * package.json above the file does not count, because people may have one in their home.
 */
export async function packageOf(file: string): Promise<Package | undefined> {
  const installed = /\/node_modules\//.test(file);
  let folder = dirname(file);
  for (let depth = 0; depth < packageDepthMax && folder !== dirname(folder); depth++) {
    if (basename(folder) === 'node_modules') return undefined;
    const found = await readPackage(folder);
    if (found !== undefined && (installed || (await lists(found, file)))) return found;
    folder = dirname(folder);
  }
  return undefined;
}

/** The program that npx would run: the only one, or the one with the name of the package. */
export function defaultBin({ name, bins }: Package): string | undefined {
  const [only, ...others] = new Set(bins.values());
  return others.length === 0 ? only : bins.get(name.replace(/^@.*\//, ''));
}
