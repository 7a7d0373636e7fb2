// The schema of profiles: how an agent is installed, found, started and configured.
import Type, { type Static } from 'typebox';
import { protocols } from '../models/protocols.ts';

const agentsMax = 100;
const programsMax = 10;
const argsMax = 100;
const envMax = 100;
const textMax = 10_000;
const filesMax = 20;
const needsMax = 10;
const packagesMax = 10;
const only = { additionalProperties: false };
/** Matches relative paths without `..`. */
const homePath = '^(?!/)(?!.*(^|/)\\.\\.(/|$)).+$';

/** An exact version of an npm package. */
export const exactVersion = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

/** Where agents put the output of a command: ACP content, the raw output, or the chunks of a terminal. */
const outputFields = ['content', 'rawOutput', 'terminal_output'] as const;
export type OutputField = (typeof outputFields)[number];

const Text = Type.String({ minLength: 1, maxLength: textMax });
const ModeId = Type.String({ minLength: 1, maxLength: 200 });

const Args = Type.Array(Type.String({ maxLength: textMax }), { maxItems: argsMax });
/** Text with placeholders, or JSON that becomes text. */
const TemplateText = Type.Union([
  Type.String({ maxLength: textMax }),
  Type.Record(Type.String(), Type.Unknown()),
]);
const Env = Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), TemplateText, {
  maxProperties: envMax,
  ...only,
});
/** Files in the home, by path. */
const Files = Type.Record(Type.String({ pattern: homePath, maxLength: 200 }), TemplateText, {
  maxProperties: filesMax,
  ...only,
});
const CommandName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 200 });
/** The name of an npm package: never a path, a URL or an option. */
const PackageName = Type.String({
  pattern: '^(@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*$',
  maxLength: 214,
});

/** An npm package in one version, which is never a range or a tag. */
const PinnedPackage = Type.Object(
  {
    name: PackageName,
    version: Type.String({ pattern: exactVersion.source, maxLength: 100 }),
    /** The package does not work unless its install scripts run. */
    scripts: Type.Optional(Type.Boolean()),
  },
  only,
);
export type PinnedPackage = Static<typeof PinnedPackage>;

/** What depends on whether actions of the agent need approval. */
const Mode = Type.Object(
  {
    /** The mode to set over ACP. Default: the mode in which the agent starts. */
    id: Type.Optional(ModeId),
    /** Added to the arguments of the program. */
    args: Type.Optional(Args),
    env: Type.Optional(Env),
    /** Files to create in the home. They are removed in the other mode. */
    files: Type.Optional(Files),
    /** Sent unchanged as `_meta` when a session is opened. */
    meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  only,
);
export type Mode = Static<typeof Mode>;

/** One way to start the agent. The first whose program is installed is used. */
const Program = Type.Object(
  {
    /** The name of a program in PATH. */
    command: Type.Optional(CommandName),
    /**
     * The npm package that must contain the program, because two packages may have one of the same name. Without
     * `command`, it is the program that npx would run, and the package must be installed in the data folder.
     */
    package: Type.Optional(PackageName),
    /** A file of Parley itself, instead of a command. */
    own: Type.Optional(Text),
    args: Args,
    env: Env,
    /** Files to create in the home before each start. */
    files: Type.Optional(Files),
    /** Other programs that the agent starts by name. */
    needs: Type.Optional(
      Type.Array(Type.Object({ command: CommandName, package: Type.Optional(PackageName) }, only), {
        maxItems: needsMax,
      }),
    ),
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
    /** The npm packages that `agents install` installs. The first is the agent itself. */
    packages: Type.Optional(Type.Array(PinnedPackage, { minItems: 1, maxItems: packagesMax })),
    /** How to install the agent, if it is not by `packages`. */
    install: Type.Optional(Text),
    /** The oldest version of Node that can run the agent. */
    node: Type.Optional(Type.String({ pattern: '^\\d{1,4}(\\.\\d{1,4}){0,2}$' })),
    /** The model API of the agent; `any` if it asks the gateway which one suits the current model. */
    protocol: Type.Enum([...protocols, 'any']),
    programs: Type.Array(Program, { minItems: 1, maxItems: programsMax }),
    /** A file in the home that the agent reads as instructions. Default: they precede the first prompt. */
    instructions: Type.Optional(Type.String({ pattern: homePath, maxLength: textMax })),
    /** What the agent requests approval for in the mode `ask`, whatever a repository configures. Absent if unknown. */
    asks: Type.Optional(Type.Enum(['all', 'commands', 'nothing'])),
    /** The field of a tool call that holds the output of a command, if the agent fills several. */
    output: Type.Optional(Type.Enum([...outputFields])),
    /** What the agent must be able to read besides its own program. */
    readable: Type.Optional(
      Type.Array(Type.String({ pattern: '^/', maxLength: textMax }), { maxItems: 100 }),
    ),
    notes: Type.Optional(Text),
  },
  only,
);
export type Profile = Static<typeof Profile>;

export const AnyProfiles = Type.Object({ agents: Type.Array(Type.Unknown(), { maxItems: agentsMax }) }, only);
export const ProfileFile = Type.Object({ agents: Type.Array(Profile, { maxItems: agentsMax }) }, only);
