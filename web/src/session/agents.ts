// The agents that the user can choose. The built-in one has several names and comes first.
import { useQuery } from '@tanstack/react-query';
import type { AgentInfo } from '../../../src/client/parley.ts';
import { useTexts } from '../texts/texts.tsx';
import { isBuiltin } from './agentNames.ts';
import { useParley } from './session.tsx';

/** The operator may install an agent at any time. */
const freshMs = 30_000;

interface AgentChoices {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  /** What to do if this agent is not installed on the server; undefined if it is, or if that is not known. */
  missingHint(value: string): string | undefined;
}

/** Offers only the built-in agent until the service has listed the others. */
export function useAgentChoices(): AgentChoices {
  const { home } = useTexts();
  const parley = useParley();
  const { data } = useQuery({
    queryKey: ['agents'],
    queryFn: ({ signal }) => parley.agents.list({ signal }),
    staleTime: freshMs,
  });
  const others = (data?.agents ?? []).filter(({ id }) => !isBuiltin(id));
  const label = ({ id, installed }: AgentInfo) => (installed === false ? home.notInstalled(id) : id);
  return {
    choices: [
      { value: '', label: home.builtin },
      ...others.map((agent) => ({ value: agent.id, label: label(agent) })),
    ],
    missingHint: (value) => {
      const agent = others.find(({ id }) => id === value);
      return agent?.installed === false ? home.installHint(agent.name, agent.install) : undefined;
    },
  };
}
