// The profiles of agents: those of Parley are in profiles.json; a file of the operator in the same format adds profiles
// and replaces them.
import { readFileSync } from 'node:fs';
import { RefusalError } from '../errors.ts';
import { programFile } from '../process/program.ts';
import { parseOperatorFile, readOperatorFile } from '../validation/operatorFile.ts';
import { AnyProfiles, type Mode, type Profile, ProfileFile, type Program } from './profileSchema.ts';
import { placeholders, placeholdersIn, type Template } from './templates.ts';

/** Names of the built-in agent in clients of other products. */
export const aliases: Readonly<Record<string, string>> = { CodeActAgent: 'builtin' };

const knownPlaceholders = new Set(placeholders.flatMap((name) => [name, `${name}:quoted`]));

function* templateFaults(path: string, template: Template): Generator<string> {
  const unknown = placeholdersIn(template).find((name) => !knownPlaceholders.has(name));
  if (unknown !== undefined)
    yield `${path} has an unknown {${unknown.slice(0, 64)}}; known are {${placeholders.join('}, {')}}`;
}

function* launchFaults(path: string, { args = [], env = {}, files = {} }: Mode): Generator<string> {
  for (const [i, arg] of args.entries()) {
    yield* templateFaults(`${path}.args[${i}]`, arg);
    if (placeholdersIn(arg).some((name) => name.startsWith('token')))
      yield `${path}.args[${i}] must not contain {token}, because all users of the machine can read arguments; use env`;
  }
  for (const [name, value] of Object.entries(env)) yield* templateFaults(`${path}.env.${name}`, value);
  for (const [name, value] of Object.entries(files)) yield* templateFaults(`${path}.files.${name}`, value);
}

/** Checks what the schema cannot express. */
function* programFaults(path: string, program: Program): Generator<string> {
  const { command, package: packageName, own, modes = {} } = program;
  if ((command ?? packageName) === undefined ? own === undefined : own !== undefined)
    yield `${path} must have either own, or command or package`;
  yield* launchFaults(path, program);
  for (const [name, mode] of Object.entries(modes)) yield* launchFaults(`${path}.modes.${name}`, mode);
}

function* profileFaults(profiles: readonly Profile[]): Generator<string> {
  for (const [i, { id, programs }] of profiles.entries()) {
    if (profiles.findIndex((other) => other.id === id) < i) yield `agents[${i}].id occurs twice`;
    for (const [k, program] of programs.entries())
      yield* programFaults(`agents[${i}].programs[${k}]`, program);
  }
}

/** Reads the profiles from the text of a file. Throws RefusalError, which names the file and the position. */
export function readProfiles(text: string, file: string): Profile[] {
  const { agents } = parseOperatorFile(text, file, ProfileFile);
  const [fault] = profileFaults(agents);
  if (fault !== undefined) throw new RefusalError(`${file}: ${fault}.`);
  return agents;
}

export interface LoadedProfiles {
  readonly profiles: readonly Profile[];
  /** One sentence for each invalid profile. */
  readonly faults: readonly string[];
}

/** Reads the valid profiles of a file, so that an invalid one does not disable the others. */
function readGoodProfiles(text: string, file: string): LoadedProfiles {
  const { agents } = parseOperatorFile(text, file, AnyProfiles);
  const profiles: Profile[] = [];
  const faults: string[] = [];
  for (const [i, agent] of agents.entries())
    try {
      const read = readProfiles(JSON.stringify({ agents: [agent] }), file);
      profiles.push(...read.filter(({ id }) => profiles.every((other) => other.id !== id)));
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      faults.push(error.message.replace('agents[0]', `agents[${i}]`));
    }
  return { profiles, faults };
}

/** Like `loadProfiles`, but leaves out invalid profiles. */
export function loadGoodProfiles(operatorFile: string): LoadedProfiles {
  const text = readOperatorFile(operatorFile, 'agents');
  const shipped = loadProfiles();
  if (text === undefined) return { profiles: shipped, faults: [] };
  const { profiles: added, faults } = readGoodProfiles(text, operatorFile);
  return { profiles: merge(shipped, added), faults };
}

function merge(shipped: readonly Profile[], added: readonly Profile[]): Profile[] {
  return [...new Map([...shipped, ...added].map((profile) => [profile.id, profile])).values()];
}

/** Loads the shipped profiles. Those of the operator's file, which may be missing, are added or replace them by id. */
export function loadProfiles(operatorFile?: string): readonly Profile[] {
  const shippedFile = programFile('agents/profiles.json');
  const shipped = readProfiles(readFileSync(shippedFile, 'utf8'), 'profiles.json');
  const text = operatorFile === undefined ? undefined : readOperatorFile(operatorFile, 'agents');
  if (operatorFile === undefined || text === undefined) return shipped;
  const added = readProfiles(text, operatorFile);
  return merge(shipped, added);
}

/** The values that `agent` may have: the ids of the profiles and their aliases. */
export function agentNamesOf(profiles: readonly Profile[]): string[] {
  return [...Object.keys(aliases), ...profiles.map(({ id }) => id)];
}

/** Returns the profile with this name. Null and `CodeActAgent` are the built-in agent. */
export function findProfile(profiles: readonly Profile[], name: string | null): Profile | undefined {
  const id = name === null ? 'builtin' : Object.hasOwn(aliases, name) ? aliases[name] : name;
  return profiles.find((profile) => profile.id === id);
}
