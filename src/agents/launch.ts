// Builds the command line and the environment of an agent from its profile.
import { protocolBases } from '../models/protocols.ts';
import type { SandboxProgram } from '../sandbox/sandbox.ts';
import { type FoundAgent, settingsFolder } from './find.ts';
import type { Profile } from './profiles.ts';
import { fill, fillText, type Values } from './templates.ts';

/** Whether actions of the agent need approval. */
export type ApprovalMode = 'ask' | 'auto';

/** The path of the gateway at the bridge. */
const gatewayPath = '/model';

interface LaunchValues {
  readonly model: string;
  /** Whether long histories are condensed. */
  readonly condenses?: boolean;
  /** The run token, never an API key of the user. */
  readonly token: string;
  /** The origin of the bridge inside the sandbox. */
  readonly origin: string;
  /** The path inside the sandbox. */
  readonly home: string;
  readonly mode: ApprovalMode;
}

/** Returns the settings of the session that depend on the mode. */
export function sessionOf(
  { program }: FoundAgent,
  mode: ApprovalMode,
): { readonly modeId?: string; readonly meta?: Readonly<Record<string, unknown>> } {
  const { id, meta } = program.modes?.[mode] ?? {};
  return { ...(id === undefined ? {} : { modeId: id }), ...(meta === undefined ? {} : { meta }) };
}

/** Returns the files for the home by path. Files of the other mode have an empty text and must be removed. */
export function homeFilesOf({ program }: FoundAgent, mode: ApprovalMode): ReadonlyMap<string, string> {
  const { ask = {}, auto = {} } = program.modes ?? {};
  const names = [ask, auto].flatMap(({ files = {} }) => Object.keys(files));
  const wanted = (mode === 'ask' ? ask : auto).files ?? {};
  return new Map(names.map((name) => [name, wanted[name] ?? '']));
}

export function launchOf(profile: Profile, found: FoundAgent, given: LaunchValues): SandboxProgram {
  const { mode, condenses = false, ...texts } = given;
  const { protocol } = profile;
  const values: Values = {
    ...texts,
    base: given.origin + gatewayPath + (protocol === 'any' ? '' : protocolBases[protocol]),
    settings: settingsFolder,
    condense: String(condenses),
  };
  const { program, start } = found;
  const { args = [], env = {} } = program.modes?.[mode] ?? {};
  const filled = Object.entries({ ...program.env, ...env }).map(([name, value]) => [
    name,
    fill(value, values),
  ]);
  return {
    argv: [...start, ...[...program.args, ...args].map((arg) => fillText(arg, values))],
    env: Object.fromEntries(filled),
  };
}
