// Builds the command line and the environment of an agent from its profile.
import { protocolBases } from '../models/protocols.ts';
import type { SandboxProgram } from '../sandbox/sandbox.ts';
import { type FoundAgent, settingsFolder } from './find.ts';
import type { Profile } from './profileSchema.ts';
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

function valuesOf({ protocol }: Profile, found: FoundAgent, given: LaunchValues): Values {
  const { mode: _, condenses = false, ...texts } = given;
  return {
    ...texts,
    base: given.origin + gatewayPath + (protocol === 'any' ? '' : protocolBases[protocol]),
    settings: found.settings ?? settingsFolder,
    condense: String(condenses),
  };
}

/** The folder in the home for programs that the agent starts by name. */
const helpersFolder = '.parley/bin';

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A file for the home of an agent. */
export interface HomeFile {
  /** Relative to the home. */
  readonly path: string;
  /** If it is empty, the file must be removed. */
  readonly text: string;
  readonly isProgram?: boolean;
}

/** Scripts, because a link would not start a program for Node with the Node of Parley. */
function helperFiles({ helpers }: FoundAgent): HomeFile[] {
  return helpers.map(({ command, start }) => ({
    path: `${helpersFolder}/${command}`,
    text: `#!/bin/sh\nexec ${start.map(shellQuoted).join(' ')} "$@"`,
    isProgram: true,
  }));
}

/** Returns the files for the home. They may contain the run token. Those of the other mode have an empty text. */
export function homeFilesOf(profile: Profile, found: FoundAgent, given: LaunchValues): HomeFile[] {
  const values = valuesOf(profile, found, given);
  const { files = {}, modes: { ask = {}, auto = {} } = {} } = found.program;
  const wanted = { ...files, ...(given.mode === 'ask' ? ask : auto).files };
  const names = new Set([files, ask.files, auto.files].flatMap((some = {}) => Object.keys(some)));
  const textOf = (name: string) => (wanted[name] === undefined ? '' : fill(wanted[name], values));
  return [...[...names].map((path) => ({ path, text: textOf(path) })), ...helperFiles(found)];
}

export function launchOf(profile: Profile, found: FoundAgent, given: LaunchValues): SandboxProgram {
  const { mode, home } = given;
  const values = valuesOf(profile, found, given);
  const { program, start, helpers } = found;
  const { args = [], env = {} } = program.modes?.[mode] ?? {};
  const filled = Object.entries({ ...program.env, ...env }).map(([name, value]) => [
    name,
    fill(value, values),
  ]);
  return {
    argv: [...start, ...[...program.args, ...args].map((arg) => fillText(arg, values))],
    env: Object.fromEntries(filled),
    ...(helpers.length === 0 ? {} : { programs: `${home}/${helpersFolder}` }),
  };
}
