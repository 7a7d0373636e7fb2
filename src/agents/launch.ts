// From a profile and what was found to what is started in a cell.
import { protocolBases } from '../models/protocols.ts';
import type { SandboxProgram } from '../sandbox/sandbox.ts';
import { type Found, settingsFolder } from './find.ts';
import type { Profile } from './profiles.ts';
import { fill, fillText, type Values } from './templates.ts';

/** Whether the user confirms what the agent does. */
export type AskMode = 'ask' | 'auto';

/** Where the gateway is behind the bridge. */
const gatewayPath = '/model';

interface LaunchValues {
  readonly model: string;
  /** Long histories are to be made short. */
  readonly condenses?: boolean;
  /** Of the run, as the bridge knows it: never a key of the user. */
  readonly token: string;
  /** Of the bridge, as seen from inside. */
  readonly origin: string;
  /** As seen from inside. */
  readonly home: string;
  readonly mode: AskMode;
}

/** What of the agent's session depends on the mode. */
export function sessionOf(
  { program }: Found,
  mode: AskMode,
): { readonly modeId?: string; readonly meta?: Readonly<Record<string, unknown>> } {
  const { id, meta } = program.modes?.[mode] ?? {};
  return { ...(id === undefined ? {} : { modeId: id }), ...(meta === undefined ? {} : { meta }) };
}

/** Files for its home by path. Those that only the other mode uses have an empty text and must be removed. */
export function homeFilesOf({ program }: Found, mode: AskMode): ReadonlyMap<string, string> {
  const { ask = {}, auto = {} } = program.modes ?? {};
  const names = [ask, auto].flatMap(({ files = {} }) => Object.keys(files));
  const wanted = (mode === 'ask' ? ask : auto).files ?? {};
  return new Map(names.map((name) => [name, wanted[name] ?? '']));
}

export function launchOf(profile: Profile, found: Found, given: LaunchValues): SandboxProgram {
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
