// GET /api/agents: the agents of the service, and which of them are installed.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { type AgentInfo, AgentList } from './schema.ts';
import type { Agents } from './service.ts';

const builtin: AgentInfo = {
  id: 'builtin',
  name: 'the built-in agent',
  installed: true,
  version: null,
  asks: 'all',
  install: null,
  missing: null,
};
const codex: AgentInfo = {
  id: 'codex',
  name: 'Codex',
  installed: false,
  version: null,
  asks: 'all',
  install: 'parley agents install codex',
  missing:
    'The agent codex (Codex) is not installed on this machine. Install it with: parley agents install codex',
};

export function agentRoutes(app: Server, agents: Agents): void {
  app.get(
    '/api/agents',
    {
      config: {
        access: needs('settings:read', { bearer: true }),
        document: { responseExamples: { agents: { agents: [builtin, codex] } } },
      },
      schema: {
        tags: ['Options'],
        operationId: 'listAgentDetails',
        summary: 'List agents and which are installed',
        description:
          'The agents of this server with what is known about them. In a cluster, `installed` describes the machine of the process that answers.',
        response: { 200: AgentList },
      },
    },
    () => agents.list(),
  );
}
