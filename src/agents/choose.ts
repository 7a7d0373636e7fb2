// Finds the agent of a conversation, or explains why it is not available.

import { commandName } from '../process/program.ts';
import { type FoundAgent, findAgent } from './find.ts';
import { findProfile, type Profile } from './profiles.ts';

export type Choice =
  | { readonly profile: Profile; readonly found: FoundAgent; readonly missing?: undefined }
  | { readonly missing: string };

const nameShownMax = 64;

function idsOf(profiles: readonly Profile[]): string {
  return profiles.map(({ id }) => id).join(', ');
}

/** Explains that the agent is missing, and what to do. */
function missingSentence({ id, name, install, programs }: Profile): string {
  if (programs.every(({ own }) => own !== undefined))
    return `This version of Parley does not contain ${name}. Install another agent and set "agent" in your settings to its name; "${commandName} agents list" shows how.`;
  const remedy =
    install === undefined
      ? `"${commandName} agents list" shows the commands of the known agents`
      : `Install it with: ${install}`;
  return `The agent ${id} (${name}) is not installed in the PATH of this program. ${remedy}`;
}

/** Null and `CodeActAgent` are the built-in agent. `missing` is the message of the stop reason `agent_missing`. */
export async function chooseAgent(
  profiles: readonly Profile[],
  name: string | null,
  path?: string,
): Promise<Choice> {
  const profile = findProfile(profiles, name);
  if (profile === undefined) {
    const shown = (name ?? '').slice(0, nameShownMax);
    return { missing: `There is no agent named ${JSON.stringify(shown)}. Known are: ${idsOf(profiles)}.` };
  }
  const found = await findAgent(profile, path);
  return found === undefined ? { missing: missingSentence(profile) } : { profile, found };
}
