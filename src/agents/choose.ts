// Finds the agent of a conversation, or explains why it is not available.

import { commandName } from '../process/program.ts';
import { type AgentFault, type AgentSearch, type FoundAgent, findAgent } from './find.ts';
import type { Profile } from './profileSchema.ts';
import { findProfile } from './profiles.ts';

export type Choice =
  | { readonly profile: Profile; readonly found: FoundAgent; readonly missing?: undefined }
  | { readonly missing: string };

const nameShownMax = 64;

export function knownAgentsSentence(profiles: readonly Profile[]): string {
  return `Known agents: ${profiles.map(({ id }) => id).join(', ')}.`;
}

/** How to install the agent: a command or a sentence. Undefined if the profile does not say. */
export function installHint({ id, packages, install }: Profile): string | undefined {
  return packages === undefined ? install : `${commandName} agents install ${id}`;
}

/** Explains what is missing, and what to do. */
export function missingSentence(profile: Profile, fault: AgentFault): string {
  const { id, name, programs } = profile;
  if (programs.every(({ own }) => own !== undefined))
    return `This version of Parley does not contain ${name}. Install another agent and set "agent" in your settings to its name; "${commandName} agents list" shows how.`;
  if (fault.lacks === 'node')
    return `The agent ${id} (${name}) needs Node ${fault.version} or newer, but Parley runs on Node ${process.versions.node}.`;
  if (fault.lacks === 'record')
    return `The installation of the agent ${id} (${name}) in the data folder is damaged: its installed.json cannot be read. Install it again with: ${commandName} agents install ${id}`;
  const hint = installHint(profile);
  const remedy =
    hint === undefined
      ? `"${commandName} agents list" shows how to install the known agents.`
      : `Install it with: ${hint}`;
  return fault.lacks === 'helper'
    ? `The agent ${id} (${name}) needs the program ${fault.command}, which is not installed. ${remedy}`
    : `The agent ${id} (${name}) is not installed on this machine. ${remedy}`;
}

/** Null and `CodeActAgent` are the built-in agent. `missing` is the message of the stop reason `agent_missing`. */
export async function chooseAgent(
  profiles: readonly Profile[],
  name: string | null,
  places?: AgentSearch,
): Promise<Choice> {
  const profile = findProfile(profiles, name);
  if (profile === undefined) {
    const shown = (name ?? '').slice(0, nameShownMax);
    return { missing: `There is no agent named ${JSON.stringify(shown)}. ${knownAgentsSentence(profiles)}` };
  }
  const found = await findAgent(profile, places);
  return 'lacks' in found ? { missing: missingSentence(profile, found) } : { profile, found };
}
