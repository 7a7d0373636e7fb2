// Finds the program of an agent on this machine without running it, and the files that a sandbox must let it read.
import { constants } from 'node:fs';
import { access, open, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../process/program.ts';
import { contains } from '../sandbox/sandboxPaths.ts';
import type { Profile, Program } from './profiles.ts';

export interface FoundAgent {
  /** The program of the profile that was found. */
  readonly program: Program;
  /** The path in PATH, which is often a link. */
  readonly foundAt: string;
  /** The command without the arguments of the profile: the file itself, or Node and the file. */
  readonly start: readonly [command: string, ...args: string[]];
  /** Files and folders that the agent must be able to read. */
  readonly readable: readonly string[];
  readonly version: string | undefined;
}

/** Settings for agents that ship with Parley, and that the sandbox cannot change. */
export const settingsFolder = fileURLToPath(programFile('agents/settings'));

const firstLineBytesMax = 256;
const packageDepthMax = 8;

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

async function isForNode(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(firstLineBytesMax), 0, firstLineBytesMax, 0);
    const [line = ''] = buffer.toString('latin1', 0, bytesRead).split('\n', 1);
    return /^#!.*[/ ]node( |\r|$)/.test(line);
  } finally {
    await handle.close();
  }
}

interface Package {
  readonly folder: string;
  readonly name: string;
  readonly version: string | undefined;
  /** The paths of its programs within the package. */
  readonly bins: readonly string[];
}

async function readPackage(folder: string): Promise<Package | undefined> {
  try {
    const { name, version, bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    // A package.json without a name only sets how the files around it are loaded.
    if (typeof name !== 'string') return undefined;
    const listed: unknown[] = typeof bin === 'object' && bin !== null ? Object.values(bin) : [bin];
    const bins = listed.filter((one) => typeof one === 'string');
    return { folder, name, version: typeof version === 'string' ? version : undefined, bins };
  } catch {
    return undefined;
  }
}

async function lists({ folder, bins }: Package, file: string): Promise<boolean> {
  const files = await Promise.all(bins.map((bin) => realpath(join(folder, bin)).catch(() => undefined)));
  return files.includes(file);
}

/**
 * Returns the npm package of a file: the installed one that contains it, or one that lists it as its program. Another
 * package.json above the file does not count, because people may have one in their home.
 */
async function packageOf(file: string): Promise<Package | undefined> {
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

/**
 * Returns the whole node_modules tree, because it contains the dependencies, or else the package, or else the file. It
 * never returns a folder that contains the home of the user who runs the service.
 */
function codeOf(file: string, owner: Package | undefined): string {
  const [, tree] = /^(.*?\/node_modules)\//.exec(file) ?? [];
  const folder = tree ?? owner?.folder;
  return folder === undefined || contains(folder, homedir()) ? file : folder;
}

async function describe(program: Program, path: string): Promise<FoundAgent | undefined> {
  const file = await realpath(path);
  const owner = await packageOf(file);
  if (program.package !== undefined && owner?.name !== program.package) return undefined;
  const code = codeOf(file, owner);
  const { version } = owner ?? {};
  return (await isForNode(file))
    ? { program, foundAt: path, start: [process.execPath, file], readable: [code, process.execPath], version }
    : { program, foundAt: path, start: [file], readable: [code], version };
}

async function findCommand(program: Program, command: string, path: string): Promise<FoundAgent | undefined> {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const file = join(folder, command);
    if (!(await isProgram(file))) continue;
    const found = await describe(program, file).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A program of Parley itself needs all its sources and its npm packages. */
async function findOwn(program: Program, own: string): Promise<FoundAgent | undefined> {
  try {
    const path = await realpath(programFile(own));
    const sources = await realpath(programFile('.'));
    const packages = await realpath(fileURLToPath(programFile('../node_modules')));
    const readable = [sources, packages, process.execPath];
    return { program, foundAt: path, start: [process.execPath, path], readable, version: undefined };
  } catch {
    return undefined;
  }
}

/** Returns the first program of the profile that is installed. `path` is a list of folders, as in PATH. */
export async function findAgent(
  { programs, readable = [] }: Profile,
  path = process.env['PATH'] ?? '',
): Promise<FoundAgent | undefined> {
  for (const program of programs) {
    const { own, command } = program;
    const found =
      own !== undefined ? await findOwn(program, own) : await findCommand(program, command ?? '', path);
    if (found !== undefined) return { ...found, readable: [...found.readable, settingsFolder, ...readable] };
  }
  return undefined;
}
