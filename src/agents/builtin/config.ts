// What the service tells the agent when it starts it: one variable, in JSON. Nothing in it is a key of the user.
import Type, { type Static } from 'typebox';
import { compileCheck } from '../../validation/validation.ts';

export const configVariable = 'PARLEY_AGENT';

const Told = Type.Object({
  /** Where models are asked. */
  gateway: Type.String(),
  /** Of the run, for the gateway. */
  token: Type.String(),
  /** Whether long histories are condensed. */
  condense: Type.Enum(['true', 'false']),
});

export interface AgentConfig extends Pick<Static<typeof Told>, 'gateway' | 'token'> {
  readonly condenses: boolean;
}

/** Throws where it is missing or wrong, without a word of what it says. */
export function readConfig(text: string | undefined): AgentConfig {
  const told: unknown = text === undefined ? undefined : JSON.parse(text);
  if (compileCheck(Told)(told) !== undefined)
    throw new Error(`${configVariable} is missing, or not what it should be.`);
  const { gateway, token, condense } = told as Static<typeof Told>;
  return { gateway, token, condenses: condense === 'true' };
}
