// Checks which agent and model a conversation may use before anything is stored.
import { type AppError, invalid } from '../../errors.ts';
import type { Protocol } from '../../models/protocols.ts';
import type { ProviderKeys } from '../../providerKeys/service.ts';
import type { Settings } from '../../settings/service.ts';

/** What a conversation needs to know about an agent. */
export interface KnownAgent {
  readonly id: string;
  /** The model API that it speaks. */
  readonly protocol: Protocol | 'any';
}

/** The agents of this service by name, aliases included. */
export interface KnownAgents {
  readonly names: readonly string[];
  /** Null is the built-in agent. */
  find(name: string | null): KnownAgent | undefined;
}

interface ChoicesOptions {
  readonly agents: KnownAgents;
  readonly settings: Settings;
  readonly providerKeys: ProviderKeys;
}

interface Choice {
  readonly agent?: string | null | undefined;
  readonly llm_model?: string | null | undefined;
}

export type Choices = ReturnType<typeof createChoices>;

export function createChoices({ agents, settings, providerKeys }: ChoicesOptions) {
  /** The id of the agent. An unknown name stays as it is, and is then refused. */
  const agentId = (name: string) => agents.find(name)?.id ?? name;

  const isKnown = (name: string) => agents.find(name) !== undefined;

  const settingsAgent = async (userId: number) => (await settings.read(userId)).agent;

  /** The id of the agent in the settings. */
  async function agentOfSettings(userId: number): Promise<string> {
    const name = await settingsAgent(userId);
    return agents.find(name)?.id ?? name ?? '';
  }

  /** Why the user cannot choose these; undefined if they can. Without an agent, the one in the settings is meant. */
  async function findFault(
    userId: number,
    { agent, llm_model: model }: Choice,
  ): Promise<AppError | undefined> {
    if (agent && !isKnown(agent))
      return invalid([{ path: 'agent', message: `must be one of ${agents.names.join(', ')}` }]);
    if (!model) return undefined;
    // Settings of an earlier version may name an agent that does not exist, which is reported when it should start.
    const protocol = agents.find(agent || (await settingsAgent(userId)))?.protocol ?? 'any';
    return providerKeys.findModelFault(userId, model, protocol);
  }

  return { agentId, isKnown, agentOfSettings, findFault };
}
