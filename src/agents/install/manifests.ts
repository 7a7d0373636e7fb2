// Turns manifests of the ACP registry into profiles. They are written by others, so everything in them is checked, and
// nothing in them is run or downloaded here.
import Type, { type Static } from 'typebox';
import { RefusalError } from '../../errors.ts';
import type { Protocol } from '../../models/protocols.ts';
import { commandName } from '../../process/program.ts';
import { isObject } from '../../text/foreignText.ts';
import { parseOperatorFile } from '../../validation/operatorFile.ts';
import { compileCheck } from '../../validation/validation.ts';
import { exactVersion, type Profile, type Program } from '../profileSchema.ts';
import { aliases, readProfiles } from '../profiles.ts';

const manifestsMax = 1_000;
const shownMax = 64;

const Manifest = Type.Object({
  id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,63}$' }),
  name: Type.String({ pattern: '^[^\\p{C}]+$', maxLength: 100 }),
  version: Type.String({ maxLength: 100 }),
  distribution: Type.Object({
    npx: Type.Optional(
      Type.Object({
        package: Type.String({ maxLength: 300 }),
        cmd: Type.Optional(Type.String()),
        args: Type.Optional(Type.Array(Type.String())),
        env: Type.Optional(Type.Record(Type.String(), Type.String())),
      }),
    ),
  }),
});
type Manifest = Static<typeof Manifest>;
const checkManifest = compileCheck(Manifest);

/** Names of the built-in agent, ids that look like a choice of no agent, and names that every object of JavaScript has. */
const reservedIds: ReadonlySet<string> = new Set([
  ...Object.keys(aliases),
  'builtin',
  'constructor',
  'default',
  'none',
  'null',
  'prototype',
  'undefined',
]);

/**
 * Variables that change which code is loaded, or where requests and their keys go. A manifest needs none of them; an
 * operator who does can write the profile by hand.
 */
const refusedVariables: readonly RegExp[] = [
  /^(LD|DYLD|NODE|NPM|GIT|SSH|SSL|JAVA|PARLEY)_/i,
  /^(PATH|HOME|TMPDIR|SHELL|ENV|BASH_ENV|IFS|PYTHON.*|PERL.*|RUBY.*)$/i,
  /_PROXY$/i,
  /_(BASE_URL|API_BASE|API_URL|API_HOST|ENDPOINT)$/i,
  /_(API_KEY|AUTH_TOKEN)$/i,
];

/** The variables that programs usually read. */
const modelVariables: Readonly<Record<Protocol, Program['env']>> = {
  'openai-chat': { OPENAI_API_KEY: '{token}', OPENAI_BASE_URL: '{base}', OPENAI_MODEL: '{model}' },
  'openai-responses': { OPENAI_API_KEY: '{token}', OPENAI_BASE_URL: '{base}', OPENAI_MODEL: '{model}' },
  anthropic: { ANTHROPIC_API_KEY: '{token}', ANTHROPIC_BASE_URL: '{base}', ANTHROPIC_MODEL: '{model}' },
  gemini: { GEMINI_API_KEY: '{token}', GOOGLE_GEMINI_BASE_URL: '{base}', GEMINI_MODEL: '{model}' },
};

/** Why agents of the other distributions are refused. */
const otherDistributions: Readonly<Record<string, string>> = {
  uvx: 'it is distributed as a Python package (uvx), which Parley cannot install. Install it yourself and add a profile by hand',
  binary:
    'it is distributed as an archive to download (binary) without a checksum, which Parley does not run. Install it yourself and add a profile by hand',
};

export interface ReadManifests {
  readonly profiles: readonly Profile[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

interface ManifestOptions {
  /** The model API that the agents speak, which a manifest does not say. */
  readonly protocol: Protocol;
  /** Profiles that exist already. */
  readonly known: readonly Profile[];
  /** Ids whose profiles may be replaced. */
  readonly replaceable: ReadonlySet<string>;
}

/** One manifest, a list, or a registry with a list. */
function listOf(json: unknown): unknown[] {
  if (Array.isArray(json)) return json;
  if (isObject(json) && Array.isArray(json['agents'])) return json['agents'];
  return [json];
}

function packageOf({ version }: Manifest, spec: string): { name: string; version: string } {
  const [, name = '', given = version] = /^((?:@[^@/]+\/)?[^@/]+)(?:@([^@]*))?$/.exec(spec) ?? [];
  if (name === '') throw new RefusalError('distribution.npx.package is not the name of an npm package');
  if (!exactVersion.test(given)) throw new RefusalError('it names no exact version of its npm package');
  return { name, version: given };
}

function toProfile(manifest: Manifest, protocol: Protocol): Profile {
  const { id, name, distribution } = manifest;
  const { npx } = distribution;
  if (npx === undefined) {
    const [reason] = Object.keys(distribution).flatMap((kind) =>
      Object.hasOwn(otherDistributions, kind) ? (otherDistributions[kind] ?? []) : [],
    );
    throw new RefusalError(reason ?? 'it has no distribution that Parley knows');
  }
  const pinned = packageOf(manifest, npx.package);
  const [refused] = Object.keys(npx.env ?? {}).filter((one) =>
    refusedVariables.some((rule) => rule.test(one)),
  );
  if (refused !== undefined)
    throw new RefusalError(
      `it sets ${refused.slice(0, shownMax)}, which can change what is loaded or where requests go. If it needs that, add a profile by hand`,
    );
  const program = {
    package: pinned.name,
    ...(npx.cmd === undefined ? {} : { command: npx.cmd }),
    args: npx.args ?? [],
    env: { ...npx.env, ...modelVariables[protocol] },
  };
  const notes = `Added from a manifest of version ${pinned.version}. It is not known what it asks for.`;
  const profile = { id, name, packages: [pinned], protocol, programs: [program], notes };
  // These profiles must follow the same rules as those in the operator's file.
  const [read] = readProfiles(JSON.stringify({ agents: [profile] }), 'its manifest');
  if (read === undefined) throw new RefusalError('it is empty');
  return read;
}

function findConflict(
  { id, packages = [] }: Profile,
  { known, replaceable }: ManifestOptions,
): string | undefined {
  const [{ name, version } = { name: '', version: '' }] = packages;
  if (reservedIds.has(id)) return 'its id is reserved';
  const isSame = ({ packages: others }: Profile) => others?.[0]?.name === name;
  const owner = known.find((one) => isSame(one) && !(one.id === id && replaceable.has(id)));
  if (owner !== undefined)
    return `Parley already knows this agent as ${owner.id}. To get this version: ${commandName} agents install ${owner.id} --version ${version}`;
  const other = known.find((one) => one.id === id);
  if (other === undefined || replaceable.has(id)) return undefined;
  const what = other.packages?.[0]?.name ?? 'another program';
  return `Parley already has an agent with this id, which is ${what}. Change the id in the manifest, or use --replace if the other one is in your agents.json`;
}

function readOne(json: unknown, options: ManifestOptions): Profile {
  const [detail] = checkManifest(json)?.details ?? [];
  if (detail !== undefined) throw new RefusalError(`${detail.path} ${detail.message}`);
  const profile = toProfile(json as Manifest, options.protocol);
  const conflict = findConflict(profile, options);
  if (conflict !== undefined) throw new RefusalError(conflict);
  return profile;
}

function shownId(json: unknown, index: number): string {
  const id = isObject(json) ? json['id'] : undefined;
  return typeof id === 'string' ? id.slice(0, shownMax) : `manifest ${index + 1}`;
}

/**
 * Reads the text of a file. A manifest that cannot be used does not affect the others. With `only`, manifests with
 * other ids are ignored. Throws RefusalError if the file is not a list of manifests.
 */
export function readManifests(
  text: string,
  file: string,
  { only, ...options }: ManifestOptions & { readonly only: readonly string[] },
): ReadManifests {
  const all = listOf(parseOperatorFile(text, file, Type.Unknown()));
  if (all.length === 0) throw new RefusalError(`${file} has no manifests.`);
  if (all.length > manifestsMax) throw new RefusalError(`${file} has more than ${manifestsMax} manifests.`);
  const profiles: Profile[] = [];
  const refused: { id: string; reason: string }[] = [];
  for (const [i, json] of all.entries()) {
    const id = shownId(json, i);
    if (only.length > 0 && !only.includes(id)) continue;
    try {
      const profile = readOne(json, options);
      if (profiles.some((other) => other.id === profile.id)) throw new RefusalError('its id occurs twice');
      profiles.push(profile);
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      refused.push({ id, reason: error.message });
    }
  }
  for (const id of only)
    if (![...profiles, ...refused].some((one) => one.id === id))
      refused.push({ id, reason: 'it is not in the file' });
  return { profiles, refused };
}
