// The profiles of agents: how each is found, started and configured. Those of Parley are in profiles.json; a file of the
// operator in the same format adds profiles and replaces them.
import { readFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { RefusalError } from '../errors.ts';
import { protocols } from '../models/protocols.ts';
import { programFile } from '../process/program.ts';
import { parseOperatorFile, readOperatorFile } from '../validation/operatorFile.ts';
import { placeholders, placeholdersIn, type Template } from './templates.ts';

const agentsMax = 100;
const programsMax = 10;
const argsMax = 100;
const envMax = 100;
const textMax = 10_000;
const filesMax = 20;
const only = { additionalProperties: false };
/** Matches relative paths without `..`. */
const homePath = '^(?!/)(?!.*(^|/)\\.\\.(/|$)).+$';

const Text = Type.String({ minLength: 1, maxLength: textMax });
const ModeId = Type.String({ minLength: 1, maxLength: 200 });

const Args = Type.Array(Type.String({ maxLength: textMax }), { maxItems: argsMax });
const Env = Type.Record(
  Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
  Type.Union([Type.String({ maxLength: textMax }), Type.Record(Type.String(), Type.Unknown())]),
  { maxProperties: envMax, ...only },
);

/** What depends on whether actions of the agent need approval. */
const Mode = Type.Object(
  {
    /** The mode to set over ACP. Default: the mode in which the agent starts. */
    id: Type.Optional(ModeId),
    /** Added to the arguments of the program. */
    args: Type.Optional(Args),
    env: Type.Optional(Env),
    /** Files to create in the home, with their text. They are removed in the other mode. */
    files: Type.Optional(
      Type.Record(Type.String({ pattern: homePath, maxLength: 200 }), Type.String({ maxLength: textMax }), {
        maxProperties: filesMax,
        ...only,
      }),
    ),
    /** Sent unchanged as `_meta` when a session is opened. */
    meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  only,
);

/** One way to start the agent. The first whose program is installed is used. */
const Program = Type.Object(
  {
    /** The name of a program in PATH. */
    command: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 200 })),
    /** The npm package that must contain the program, because two packages may have one of the same name. */
    package: Type.Optional(Text),
    /** A file of Parley itself, instead of a command. */
    own: Type.Optional(Text),
    args: Args,
    env: Env,
    /** The authentication method over ACP, if the agent requires one. */
    auth: Type.Optional(ModeId),
    /**
     * `ask` must make the agent request approval, and keep files of a repository from switching that off. In the mode
     * `auto`, Parley allows all requests.
     */
    modes: Type.Optional(Type.Object({ ask: Type.Optional(Mode), auto: Type.Optional(Mode) }, only)),
  },
  only,
);
export type Program = Static<typeof Program>;

const Profile = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' }),
    /** The name for people. */
    name: Type.String({ minLength: 1, maxLength: 100 }),
    /** The command that installs the agent. */
    install: Type.Optional(Text),
    /** The model API of the agent; `any` if it asks the gateway which one suits the current model. */
    protocol: Type.Enum([...protocols, 'any']),
    programs: Type.Array(Program, { minItems: 1, maxItems: programsMax }),
    /** A file in the home that the agent reads as instructions. Default: they precede the first prompt. */
    instructions: Type.Optional(Type.String({ pattern: homePath, maxLength: textMax })),
    /** What the agent requests approval for in the mode `ask`, whatever a repository configures. Absent if unknown. */
    asks: Type.Optional(Type.Enum(['all', 'commands', 'nothing'])),
    /** What the agent must be able to read besides its own program. */
    readable: Type.Optional(
      Type.Array(Type.String({ pattern: '^/', maxLength: textMax }), { maxItems: 100 }),
    ),
    notes: Type.Optional(Text),
  },
  only,
);
export type Profile = Static<typeof Profile>;

const AnyProfiles = Type.Object({ agents: Type.Array(Type.Unknown(), { maxItems: agentsMax }) }, only);
const ProfileFile = Type.Object({ agents: Type.Array(Profile, { maxItems: agentsMax }) }, only);

/** Names of the built-in agent in clients of other products. */
export const aliases: Readonly<Record<string, string>> = { CodeActAgent: 'builtin' };

const knownPlaceholders = new Set(placeholders.flatMap((name) => [name, `${name}:quoted`]));

function* templateFaults(path: string, template: Template): Generator<string> {
  const unknown = placeholdersIn(template).find((name) => !knownPlaceholders.has(name));
  if (unknown !== undefined)
    yield `${path} has an unknown {${unknown.slice(0, 64)}}; known are {${placeholders.join('}, {')}}`;
}

function* launchFaults(path: string, { args = [], env = {} }: Static<typeof Mode>): Generator<string> {
  for (const [i, arg] of args.entries()) {
    yield* templateFaults(`${path}.args[${i}]`, arg);
    if (placeholdersIn(arg).some((name) => name.startsWith('token')))
      yield `${path}.args[${i}] must not contain {token}, because all users of the machine can read arguments; use env`;
  }
  for (const [name, value] of Object.entries(env)) yield* templateFaults(`${path}.env.${name}`, value);
}

/** Checks what the schema cannot express. */
function* programFaults(path: string, { command, own, args, env, modes = {} }: Program): Generator<string> {
  if ((command === undefined) === (own === undefined)) yield `${path} must have either command or own`;
  yield* launchFaults(path, { args, env });
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
