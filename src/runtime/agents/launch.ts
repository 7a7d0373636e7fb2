// From a profile and what was found to what is started in a cell.
import type { Launch } from '../sandbox/sandbox.ts';
import type { Found } from './find.ts';
import type { Profile, Protocol } from './profiles.ts';
import { fill, fillText, usesMode, type Values } from './templates.ts';

/** Whether the user confirms what the agent does. */
export type Confirmation = 'ask' | 'auto';

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
  readonly mode: Confirmation;
}

/** The mode to set over ACP; undefined where the agent stays in the one that it starts in. */
export function modeIdOf({ program: { modes, args, env } }: Found, mode: Confirmation): string | undefined {
  const toldAtStart = [...args, ...Object.values(env)].some((template) => usesMode(template));
  return toldAtStart ? undefined : modes?.[mode];
}

export function launchOf(profile: Profile, found: Found, { mode, ...given }: LaunchValues): Launch {
  const base = given.origin + bases[profile.protocol];
  const values: Values = { ...given, base, mode: found.program.modes?.[mode] ?? '' };
  const { args, env } = found.program;
  return {
    argv: [...found.start, ...args.map((arg) => fillText(arg, values))],
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value, values)])),
  };
}
