// The agent that a conversation asks for, ready to start; or the sentence that says why it cannot be had.

import { commandName } from '../process/program.ts';
import { type Found, findAgent } from './find.ts';
import { findProfile, type Profile } from './profiles.ts';

export type Choice =
  | { readonly profile: Profile; readonly found: Found; readonly missing?: undefined }
  | { readonly missing: string };

const nameShownMax = 64;

function idsOf(profiles: readonly Profile[]): string {
  return profiles.map(({ id }) => id).join(', ');
}

/** For people: that it is not there, and what to do. */
function missingSentence({ id, name, install, programs }: Profile): string {
  if (programs.every(({ own }) => own !== undefined))
    return `Parley comes without ${name} so far. Install another agent and set "agent" in your settings to its name; "${commandName} agents list" shows how.`;
  const remedy =
    install === undefined
      ? `"${commandName} agents list" shows what is looked for`
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
