// Lists the agents of the service, and which of them are installed.
import { installHint, missingSentence } from './choose.ts';
import { findAgent } from './find.ts';
import type { Profile } from './profileSchema.ts';
import type { AgentInfo, AgentList } from './schema.ts';

interface AgentsOptions {
  readonly profiles: readonly Profile[];
  readonly agentsDir: string;
  /** Whether conversations run in this process, so that its machine decides which agents there are. */
  readonly runsConversations: boolean;
}

export type Agents = ReturnType<typeof createAgents>;

export function createAgents({ profiles, agentsDir, runsConversations }: AgentsOptions) {
  let searching: Promise<AgentList> | undefined;

  async function describe(profile: Profile): Promise<AgentInfo> {
    const { id, name, asks = null } = profile;
    const known = { id, name, asks, install: installHint(profile) ?? null };
    if (!runsConversations) return { ...known, installed: null, version: null, missing: null };
    const found = await findAgent(profile, { agentsDir });
    return 'lacks' in found
      ? { ...known, installed: false, version: null, missing: missingSentence(profile, found) }
      : { ...known, installed: true, version: found.version ?? null, missing: null };
  }

  async function search(): Promise<AgentList> {
    try {
      return { agents: await Promise.all(profiles.map(describe)) };
    } finally {
      searching = undefined;
    }
  }

  return {
    /** Requests at the same time share one search, because it reads many folders. */
    list: (): Promise<AgentList> => {
      searching ??= search();
      return searching;
    },
  };
}
