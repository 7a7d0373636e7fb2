// The agent side of ACP: it initializes, creates and resumes sessions, and handles prompts.
import {
  type AgentApp,
  agent,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import { turnField, turnIn, withTurn } from '../acp/recordedTurns.ts';
import { createClient } from './client.ts';
import type { AgentConfig } from './config.ts';
import { identity } from './identity.ts';
import { createSession, resumeSession, type Session } from './session.ts';

interface AppOptions {
  readonly config: AgentConfig;
  readonly home: string;
  /** The environment of the processes that the agent starts. */
  readonly env: NodeJS.ProcessEnv;
  /** The delay before a broken model response is retried. Tests use a shorter one. */
  readonly retryMs?: number;
}

/** A code of JSON-RPC. The user reads the message beside it. */
const internalError = -32_603;

const offer = {
  protocolVersion: PROTOCOL_VERSION,
  agentInfo: identity,
  authMethods: [],
  agentCapabilities: {
    promptCapabilities: { image: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: { resume: {} },
    _meta: { [turnField]: true },
  },
};

export function createAgentApp({ config, home, env, retryMs }: AppOptions): {
  readonly app: AgentApp;
  close(): Promise<void>;
} {
  const sessions = new Map<string, Session>();

  function keep(session: Session): Session {
    sessions.set(session.id, session);
    return session;
  }

  function get(id: string): Session {
    const session = sessions.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  }

  const optionsFor = ({ cwd, mcpServers = [] }: { cwd: string; mcpServers?: McpServer[] }) => ({
    config,
    home,
    env,
    cwd,
    mcpServers,
    ...(retryMs === undefined ? {} : { retryMs }),
  });

  const app = agent({ name: identity.name })
    .onRequest(methods.agent.initialize, () => offer)
    .onRequest(methods.agent.session.new, ({ params }) => {
      const { id } = keep(createSession(optionsFor(params)));
      return { sessionId: id };
    })
    .onRequest(methods.agent.session.resume, ({ params }) => {
      const session = resumeSession(optionsFor(params), params.sessionId);
      if (session === undefined) throw RequestError.sessionNotFound(params.sessionId);
      keep(session);
      const recorded = session.recordedTurn();
      return recorded === undefined ? {} : withTurn(recorded);
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const { sessionId, prompt } = params;
      try {
        const turn = turnIn(params) ?? undefined;
        return { stopReason: await get(sessionId).prompt(prompt, createClient(client, sessionId), turn) };
      } catch (error) {
        throw error instanceof RequestError
          ? error
          : new RequestError(internalError, (error as Error).message);
      }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel());

  return {
    app,
    close: async () => {
      await Promise.all([...sessions.values()].map((session) => session.close()));
    },
  };
}
