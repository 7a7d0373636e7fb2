// What is known of each agent, as data: how it is found, started and spoken to. Ours are in profiles.json; an
// operator's file of the same form adds to them and replaces them.
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

/** What differs by whether the user confirms what the agent does. */
const Mode = Type.Object(
  {
    /** Of the mode to set over ACP. Absent: the one it starts in. */
    id: Type.Optional(ModeId),
    /** Added to those of the program. */
    args: Type.Optional(Args),
    env: Type.Optional(Env),
    /** Files to create in its home, with their text. They are removed in the other mode. */
    files: Type.Optional(
      Type.Record(Type.String({ pattern: homePath, maxLength: 200 }), Type.String({ maxLength: textMax }), {
        maxProperties: filesMax,
        ...only,
      }),
    ),
    /** Sent as `_meta` when a session is opened, as it is. */
    meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  only,
);

/** One way to start the agent. The first whose program is there is taken. */
const Program = Type.Object(
  {
    /** A program to look for in PATH. */
    command: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 200 })),
    /** Taken only where it comes from this npm package, for two may have one name. */
    package: Type.Optional(Text),
    /** Instead of a command: a file of Parley itself. */
    own: Type.Optional(Text),
    args: Args,
    env: Env,
    /** The way in which it wants to be authenticated over ACP, where it does. */
    auth: Type.Optional(ModeId),
    /**
     * Where the user confirms, `ask` must make it ask, and keep what is in a repository from switching that off. What
     * it asks where nobody confirms is allowed outside.
     */
    modes: Type.Optional(Type.Object({ ask: Type.Optional(Mode), auto: Type.Optional(Mode) }, only)),
  },
  only,
);
export type Program = Static<typeof Program>;

const Profile = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' }),
    /** As people know it. */
    name: Type.String({ minLength: 1, maxLength: 100 }),
    /** The command with which a person installs it. */
    install: Type.Optional(Text),
    /** The model API that it speaks; `any`: it asks the gateway which one is best for the model of the moment. */
    protocol: Type.Enum([...protocols, 'any']),
    programs: Type.Array(Program, { minItems: 1, maxItems: programsMax }),
    /** A file under its home that it reads as standing instructions. Absent: they go before the first prompt. */
    instructions: Type.Optional(Type.String({ pattern: homePath, maxLength: textMax })),
    /** What it asks approval for in the mode `ask`, whatever a repository configures. Absent if unknown. */
    asks: Type.Optional(Type.Enum(['all', 'commands', 'nothing'])),
    /** What it must be able to read beside its own program. */
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

/** What clients of other products call the built-in agent. */
export const aliases: Readonly<Record<string, string>> = { CodeActAgent: 'builtin' };

const knownPlaceholders = new Set(placeholders.flatMap((name) => [name, `${name}:quoted`]));

function* templateFaults(place: string, template: Template): Generator<string> {
  const unknown = placeholdersIn(template).find((name) => !knownPlaceholders.has(name));
  if (unknown !== undefined)
    yield `${place} has an unknown {${unknown.slice(0, 64)}}; known are {${placeholders.join('}, {')}}`;
}

function* launchFaults(place: string, { args = [], env = {} }: Static<typeof Mode>): Generator<string> {
  for (const [i, arg] of args.entries()) {
    yield* templateFaults(`${place}.args[${i}]`, arg);
    if (placeholdersIn(arg).some((name) => name.startsWith('token')))
      yield `${place}.args[${i}] must not hold {token}: everybody on the machine can read arguments; use env`;
  }
  for (const [name, value] of Object.entries(env)) yield* templateFaults(`${place}.env.${name}`, value);
}

/** What the schema cannot say. */
function* programFaults(place: string, { command, own, args, env, modes = {} }: Program): Generator<string> {
  if ((command === undefined) === (own === undefined)) yield `${place} must have either command or own`;
  yield* launchFaults(place, { args, env });
  for (const [name, mode] of Object.entries(modes)) yield* launchFaults(`${place}.modes.${name}`, mode);
}

function* profileFaults(profiles: readonly Profile[]): Generator<string> {
  for (const [i, { id, programs }] of profiles.entries()) {
    if (profiles.findIndex((other) => other.id === id) < i) yield `agents[${i}].id is there twice`;
    for (const [k, program] of programs.entries())
      yield* programFaults(`agents[${i}].programs[${k}]`, program);
  }
}

/** The profiles of a file's text. Throws RefusalError, which names the file and the place. */
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

/** Ours, with those of the operator's file added, or put in place of ours, by id. The file need not exist. */
export function loadProfiles(operatorFile?: string): readonly Profile[] {
  const ours = programFile('agents/profiles.json');
  const shipped = readProfiles(readFileSync(ours, 'utf8'), 'profiles.json');
  const text = operatorFile === undefined ? undefined : readOperatorFile(operatorFile, 'agents');
  if (operatorFile === undefined || text === undefined) return shipped;
  const added = readProfiles(text, operatorFile);
  return merge(shipped, added);
}

/** The profile that a setting names: null and `CodeActAgent` are the built-in one. */
export function findProfile(profiles: readonly Profile[], name: string | null): Profile | undefined {
  const id = name === null ? 'builtin' : Object.hasOwn(aliases, name) ? aliases[name] : name;
  return profiles.find((profile) => profile.id === id);
}
