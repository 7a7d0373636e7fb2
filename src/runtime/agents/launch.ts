// From a profile and what was found to what is started in a cell.
import type { Launch } from '../sandbox/sandbox.ts';
import { type Found, settingsFolder } from './find.ts';
import type { Profile, Protocol } from './profiles.ts';
import { fill, fillText, type Values } from './templates.ts';

/** Whether the user confirms what the agent does. */
export type AskMode = 'ask' | 'auto';

/** Where the clients of each protocol find it behind the bridge. What they add themselves is left out. */
const bases: Readonly<Record<Protocol, string>> = {
  'openai-chat': '/model/openai/v1',
  'openai-responses': '/model/openai/v1',
  anthropic: '/model/anthropic',
  gemini: '/model/gemini',
};

interface LaunchValues {
  readonly model: string;
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

export function launchOf(profile: Profile, found: Found, { mode, ...given }: LaunchValues): Launch {
  const { protocol } = profile;
  const values: Values = { ...given, base: given.origin + bases[protocol], settings: settingsFolder };
  const { program, start } = found;
  const { args = [], env = {} } = program.modes?.[mode] ?? {};
  const texts = Object.entries({ ...program.env, ...env }).map(([name, value]) => [
    name,
    fill(value, values),
  ]);
  return {
    argv: [...start, ...[...program.args, ...args].map((arg) => fillText(arg, values))],
    env: Object.fromEntries(texts),
  };
}
