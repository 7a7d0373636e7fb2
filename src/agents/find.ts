// Looks for an agent's program on this machine, without ever running one, and tells what a sandbox must let it read.
import { constants } from 'node:fs';
import { access, open, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../process/program.ts';
import { contains } from '../sandbox/sandboxPaths.ts';
import type { Profile, Program } from './profiles.ts';

export interface Found {
  /** Which of the profile's programs it is. */
  readonly program: Program;
  /** Where it was met: often a link. */
  readonly place: string;
  /** What to start, before the arguments of the profile: the file itself, or Node and the file. */
  readonly start: readonly [command: string, ...args: string[]];
  /** Files and folders that it needs to be able to read. */
  readonly readable: readonly string[];
  readonly version: string | undefined;
}

/** Settings of agents that are ours, and which nobody inside can change. */
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
  /** The programs that it names, by their path in it. */
  readonly bins: readonly string[];
}

async function readPackage(folder: string): Promise<Package | undefined> {
  try {
    const { name, version, bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    // One without a name only says how the files around it are to be read.
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
 * The npm package that a file belongs to: the one that was installed around it, or one that names it as its program.
 * A package.json somewhere above it says nothing: people have one in their home.
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
 * The whole tree of packages around it, for what it needs may lie beside it; else its package; else itself. Never
 * what holds the home of the user of the service, whatever package.json says.
 */
function codeOf(file: string, owner: Package | undefined): string {
  const [, tree] = /^(.*?\/node_modules)\//.exec(file) ?? [];
  const folder = tree ?? owner?.folder;
  return folder === undefined || contains(folder, homedir()) ? file : folder;
}

async function describe(program: Program, place: string): Promise<Found | undefined> {
  const file = await realpath(place);
  const owner = await packageOf(file);
  if (program.package !== undefined && owner?.name !== program.package) return undefined;
  const code = codeOf(file, owner);
  const { version } = owner ?? {};
  return (await isForNode(file))
    ? { program, place, start: [process.execPath, file], readable: [code, process.execPath], version }
    : { program, place, start: [file], readable: [code], version };
}

async function findCommand(program: Program, command: string, path: string): Promise<Found | undefined> {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const place = join(folder, command);
    if (!(await isProgram(place))) continue;
    const found = await describe(program, place).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A file of ours needs all of ours, and what npm installed beside it. */
async function findOwn(program: Program, own: string): Promise<Found | undefined> {
  try {
    const place = await realpath(programFile(own));
    const sources = await realpath(programFile('.'));
    const packages = await realpath(fileURLToPath(programFile('../node_modules')));
    const readable = [sources, packages, process.execPath];
    return { program, place, start: [process.execPath, place], readable, version: undefined };
  } catch {
    return undefined;
  }
}

/** The first of the profile's programs that is on this machine. `path` is a list of folders, as in PATH. */
export async function findAgent(
  { programs, readable = [] }: Profile,
  path = process.env['PATH'] ?? '',
): Promise<Found | undefined> {
  for (const program of programs) {
    const { own, command } = program;
    const found =
      own !== undefined ? await findOwn(program, own) : await findCommand(program, command ?? '', path);
    if (found !== undefined) return { ...found, readable: [...found.readable, settingsFolder, ...readable] };
  }
  return undefined;
}
