// Starts the agent of a run in its sandbox, and opens or resumes its session.

import { type Agent, type AgentOptions, openAgent } from '../agents/acp/agent.ts';
import { toMcpServers } from '../agents/acp/mcpServers.ts';
import type { OpenedSession } from '../agents/acp/session.ts';
import { type ApprovalMode, homeFilesOf, launchOf, sessionOf } from '../agents/launch.ts';
import { ownToolsName } from '../bridge/mcpServer.ts';
import { plainModelName } from '../models/providers.ts';
import type { RunInputs } from './inputs.ts';
import { instructionsOf, writeHomeFile } from './prompts/instructions.ts';
import { RunEnd } from './runEnd.ts';
import type { RunEnvironment } from './runEnvironment.ts';

type Listeners = Pick<AgentOptions, 'onUpdate' | 'onOtherUpdate' | 'onPermission' | 'onNotice'>;

interface AgentStart extends Listeners {
  readonly environment: RunEnvironment;
  readonly inputs: RunInputs;
  readonly mode: ApprovalMode;
  /** No agent has used this home before. */
  readonly isNewHome: boolean;
  /** The timeout of each answer until a session is open. */
  readonly initializeMs: number;
}

export async function startAgent(start: AgentStart): Promise<Agent> {
  const { environment, inputs, mode, isNewHome, ...rest } = start;
  const { sandbox, agent, variables } = environment;
  const { profile, found } = agent;
  const values = {
    model: plainModelName(inputs.settings.llm_model),
    condenses: inputs.settings.enable_default_condenser,
    token: sandbox.bridge?.token ?? '',
    origin: sandbox.bridge?.origin ?? '',
    home: sandbox.paths.home,
    mode,
  };
  const launch = launchOf(profile, found, values);
  const text = instructionsOf(inputs);
  if (profile.instructions !== undefined && (text !== '' || !isNewHome))
    await writeHomeFile(sandbox, { path: profile.instructions, text });
  for (const file of homeFilesOf(profile, found, values))
    if (file.text !== '' || !isNewHome) await writeHomeFile(sandbox, file);
  const program = await sandbox
    .start({ ...launch, env: { ...variables, ...launch.env } })
    .catch(toStartError);
  const { auth } = found.program;
  return openAgent({
    ...rest,
    program,
    cwd: sandbox.paths.workspace,
    ...(auth === undefined ? {} : { authMethod: auth }),
  });
}

/** The system limits the size of all variables of a program together. */
function toStartError(error: NodeJS.ErrnoException): never {
  if (error.code !== 'E2BIG') throw error;
  throw new RunEnd(
    'agent_error',
    'The secrets in your settings are too large together for the environment of a program. Delete some.',
  );
}

interface SessionOptions {
  readonly environment: RunEnvironment;
  readonly inputs: RunInputs;
  readonly mode: ApprovalMode;
  /** The session to resume. */
  readonly resume: string | null;
}

export interface RunSession extends OpenedSession {
  /** The MCP servers that the agent was given. */
  readonly serverNames: readonly string[];
  /** Why some MCP servers could not be given to the agent. */
  readonly notices: readonly string[];
}

export async function openRunSession(agent: Agent, wanted: SessionOptions): Promise<RunSession> {
  const { environment, inputs, mode, resume } = wanted;
  const { servers, refused } = toMcpServers({
    config: inputs.mcp,
    capabilities: agent.capabilities,
    own: environment.hasOwnTools ? ownToolsName : undefined,
    bridge: environment.sandbox.bridge,
  });
  const opened = await agent.openSession({
    mcpServers: servers,
    ...(resume === null ? {} : { resume }),
    ...sessionOf(environment.agent.found, mode),
  });
  return { ...opened, serverNames: servers.map(({ name }) => name), notices: refused };
}
