// The configuration of the agent: an environment variable with JSON. It contains no API key of the user.
import Type, { type Static } from 'typebox';
import { compileCheck } from '../../validation/validation.ts';

export const configVariable = 'PARLEY_AGENT';

const ConfigText = Type.Object({
  /** The base URL of the gateway. */
  gateway: Type.String(),
  /** The run token, for the gateway. */
  token: Type.String(),
  /** Whether long histories are condensed. */
  condense: Type.Enum(['true', 'false']),
});

export interface AgentConfig extends Pick<Static<typeof ConfigText>, 'gateway' | 'token'> {
  readonly condenses: boolean;
}

/** Throws if the text is missing or invalid, without repeating it. */
export function readConfig(text: string | undefined): AgentConfig {
  const parsed: unknown = text === undefined ? undefined : JSON.parse(text);
  if (compileCheck(ConfigText)(parsed) !== undefined)
    throw new Error(`${configVariable} is missing or invalid.`);
  const { gateway, token, condense } = parsed as Static<typeof ConfigText>;
  return { gateway, token, condenses: condense === 'true' };
}
