// Finds the program of an agent on this machine without running it, and the files that a sandbox must let it read. What
// was installed into the data folder comes before what is in PATH.
import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt, programFile } from '../process/program.ts';
import { imageFolder } from '../sandbox/kubernetes/protocol.ts';
import { contains } from '../sandbox/sandboxPaths.ts';
import { damaged, findInstallation, packageFolder, programsOf } from './installed.ts';
import { defaultBin, type Package, packageOf, readPackage } from './npmPackage.ts';
import type { Profile, Program } from './profileSchema.ts';

/** A program without the arguments of a profile: the file itself, or Node and the file. */
type Start = readonly [command: string, ...args: string[]];

interface FoundProgram {
  /** The path where it was looked for, which is often a link. */
  readonly foundAt: string;
  readonly start: Start;
  /** Files and folders that it must be able to read. */
  readonly readable: readonly string[];
  readonly version: string | undefined;
}

export interface FoundAgent extends FoundProgram {
  /** The program of the profile that was found. */
  readonly program: Program;
  /** Other programs that the agent starts by name. */
  readonly helpers: readonly { readonly command: string; readonly start: Start }[];
  /** The settings for agents that ship with Parley, if they are not in `settingsFolder`. */
  readonly settings?: string;
}

/** Where to look for agents. */
export interface AgentSearch {
  /** The folder of installed agents in the data folder. */
  readonly agentsDir?: string | undefined;
  /** One installation, instead of the current one in `agentsDir`. */
  readonly installation?: string | undefined;
  /** A list of folders; PATH by default. */
  readonly path?: string | undefined;
  /** Agents run in an image that this machine cannot look into. */
  readonly isInImage?: boolean | undefined;
}

/** Settings for agents that ship with Parley, and that the sandbox cannot change. */
export const settingsFolder = fileURLToPath(programFile('agents/settings'));

const firstLineBytesMax = 256;

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

/**
 * Returns the whole node_modules tree, because it contains the dependencies, or else the package, or else the file. It
 * never returns a folder that contains the home of the user who runs the service.
 */
function codeOf(file: string, owner: Package | undefined): string {
  const [, tree] = /^(.*?\/node_modules)\//.exec(file) ?? [];
  const folder = tree ?? owner?.folder;
  return folder === undefined || contains(folder, homedir()) ? file : folder;
}

/** Undefined if the program does not belong to the package. */
async function describe(path: string, packageName: string | undefined): Promise<FoundProgram | undefined> {
  const file = await realpath(path);
  const owner = await packageOf(file);
  if (packageName !== undefined && owner?.name !== packageName) return undefined;
  const code = codeOf(file, owner);
  const { version } = owner ?? {};
  return (await isForNode(file))
    ? { foundAt: path, start: [process.execPath, file], readable: [code, process.execPath], version }
    : { foundAt: path, start: [file], readable: [code], version };
}

interface Wanted {
  readonly command?: string | undefined;
  readonly package?: string | undefined;
}

async function findCommand(
  command: string,
  packageName: string | undefined,
  folders: readonly string[],
): Promise<FoundProgram | undefined> {
  for (const folder of folders) {
    const file = join(folder, command);
    if (!(await isProgram(file))) continue;
    const found = await describe(file, packageName).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function findInPackage(installation: string, packageName: string): Promise<FoundProgram | undefined> {
  const installed = await readPackage(packageFolder(installation, packageName));
  const bin = installed && defaultBin(installed);
  if (installed === undefined || bin === undefined) return undefined;
  const file = join(installed.folder, bin);
  return (await isProgram(file)) ? describe(file, packageName).catch(() => undefined) : undefined;
}

interface Folders {
  readonly installation: string | undefined;
  /** Folders of programs, in the order of the search. */
  readonly folders: readonly string[];
}

async function findWanted(
  wanted: Wanted,
  { installation, folders }: Folders,
): Promise<FoundProgram | undefined> {
  const { command, package: packageName } = wanted;
  if (command !== undefined) return findCommand(command, packageName, folders);
  if (installation === undefined || packageName === undefined) return undefined;
  return findInPackage(installation, packageName);
}

/** A program of Parley itself needs all its files; without a build, its npm packages too. */
async function findOwn(own: string): Promise<FoundProgram | undefined> {
  try {
    const path = await realpath(programFile(own));
    const files = await realpath(programFile('.'));
    const packages = isBuilt ? [] : [await realpath(fileURLToPath(programFile('../node_modules')))];
    const readable = [files, ...packages, process.execPath];
    return { foundAt: path, start: [process.execPath, path], readable, version: undefined };
  } catch {
    return undefined;
  }
}

/** Compares versions such as `22.19` and `26.10.0` by their numbers. */
function isOlder(version: string, than: string): boolean {
  const [numbers, others] = [version, than].map((text) => text.split('.').map(Number)) as [
    number[],
    number[],
  ];
  for (const [i, other] of others.entries()) {
    const difference = (numbers[i] ?? 0) - other;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** What is missing: the agent itself, or something that it needs. */
export type AgentFault =
  | { readonly lacks: 'agent' }
  /** It is in the data folder, but its record is damaged. */
  | { readonly lacks: 'record' }
  | { readonly lacks: 'helper'; readonly command: string }
  | { readonly lacks: 'node'; readonly version: string };

async function findProgram(program: Program, folders: Folders): Promise<FoundAgent | AgentFault> {
  const { own, needs = [] } = program;
  const found = own !== undefined ? await findOwn(own) : await findWanted(program, folders);
  if (found === undefined) return { lacks: 'agent' };
  const helpers: (FoundProgram & { command: string })[] = [];
  for (const need of needs) {
    const helper = await findWanted(need, folders);
    if (helper === undefined) return { lacks: 'helper', command: need.command };
    helpers.push({ ...helper, command: need.command });
  }
  const readable = [found, ...helpers].flatMap((one) => one.readable);
  return { ...found, program, helpers: helpers.map(({ command, start }) => ({ command, start })), readable };
}

/** Takes it on trust that the image has the agent: the first program that has a name. */
function findInImage({ programs }: Profile): FoundAgent | AgentFault {
  const program = programs.find(({ own, command }) => own !== undefined || command !== undefined);
  const { own, command } = program ?? {};
  if (program === undefined) return { lacks: 'agent' };
  const file = own === undefined ? undefined : fileURLToPath(programFile(own));
  const start: Start = file === undefined ? [command ?? ''] : [process.execPath, file];
  const settings = `${imageFolder}/agents/settings`;
  return {
    foundAt: start.join(' '),
    start,
    readable: [],
    version: undefined,
    program,
    helpers: [],
    settings,
  };
}

/** Returns the first program of the profile that is installed with what it needs, or what is missing. */
export async function findAgent(
  profile: Profile,
  places: AgentSearch = {},
): Promise<FoundAgent | AgentFault> {
  const { id, programs, node, readable = [] } = profile;
  const { agentsDir, path = process.env['PATH'] ?? '' } = places;
  if (node !== undefined && isOlder(process.versions.node, node)) return { lacks: 'node', version: node };
  if (places.isInImage) return findInImage(profile);
  const current = agentsDir === undefined ? undefined : await findInstallation(agentsDir, id);
  const installation = places.installation ?? current;
  // Another version in PATH is not what the operator has installed.
  if (installation === damaged) return { lacks: 'record' };
  const installed = installation === undefined ? [] : [programsOf(installation)];
  const folders = [...installed, ...path.split(delimiter).filter(isAbsolute)];
  let fault: AgentFault = { lacks: 'agent' };
  for (const program of programs) {
    const found = await findProgram(program, { installation, folders });
    if (!('lacks' in found))
      // An engine may refuse to mount the same path twice.
      return { ...found, readable: [...new Set([...found.readable, settingsFolder, ...readable])] };
    if (found.lacks !== 'agent') fault = found;
  }
  return fault;
}
