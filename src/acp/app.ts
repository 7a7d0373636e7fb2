// Parley as an ACP agent. A session is a conversation, and everything goes through the API with the client's own key, so
// that the same checks apply as to any other client.
import {
  type AgentApp,
  type AgentCapabilities,
  type AgentContext,
  agent,
  type ClientCapabilities,
  methods,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk';
import type { Parley } from '../client/parley.ts';
import type { ClientFolders } from './clientFolders.ts';
import { withRequestErrors } from './requestErrors.ts';
import { createSessions, type Sessions } from './sessions.ts';

interface AcpOptions {
  readonly parley: Parley;
  readonly version: string;
  /** Undefined if the client may be on another machine. */
  readonly folders?: ClientFolders;
  /** Runs each request of the client, such as to start the service first. */
  use?<Out>(work: () => Promise<Out>): Promise<Out>;
}

const agentCapabilities: AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, embeddedContext: true },
  mcpCapabilities: { http: true, sse: true },
  sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
};

export interface AcpApp extends Pick<Sessions, 'ended' | 'close'> {
  readonly app: AgentApp;
}

export function createAcpApp({ parley, version, folders, use }: AcpOptions): AcpApp {
  const sessions = createSessions({ parley, folders });
  let capabilities: ClientCapabilities = {};
  const toClient = (context: AgentContext) => ({ context, capabilities });

  const answer = <Out>(handle: () => Promise<Out>) =>
    withRequestErrors(() => (use === undefined ? handle() : use(handle)));

  const { session } = methods.agent;
  const app = agent({ name: 'parley' })
    .onRequest(methods.agent.initialize, ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'parley', title: 'Parley', version },
        agentCapabilities,
        authMethods: [],
      };
    })
    .onRequest(session.new, ({ params, client }) =>
      answer(() => sessions.create(toClient(client), params.cwd, params.mcpServers)),
    )
    .onRequest(session.load, ({ params, client }) =>
      answer(() => sessions.open(toClient(client), { id: params.sessionId, cwd: params.cwd, replay: true })),
    )
    .onRequest(session.resume, ({ params, client }) =>
      answer(() => sessions.open(toClient(client), { id: params.sessionId, cwd: params.cwd, replay: false })),
    )
    .onRequest(session.list, ({ params }) => answer(() => sessions.list(params)))
    .onRequest(session.close, ({ params }) => answer(() => sessions.stop(params.sessionId)))
    .onRequest(session.delete, ({ params }) => answer(() => sessions.delete(params.sessionId)))
    .onRequest(session.setConfigOption, ({ params }) =>
      answer(() => sessions.change(params.sessionId, params.configId, params.value)),
    )
    .onRequest(session.setMode, ({ params }) =>
      answer(async () => {
        await sessions.change(params.sessionId, 'mode', params.modeId);
        return {};
      }),
    )
    .onRequest(session.prompt, ({ params }) =>
      answer(() => sessions.get(params.sessionId).prompt(params.prompt)),
    )
    .onNotification(session.cancel, ({ params }) => sessions.cancel(params.sessionId));

  return { app, ended: sessions.ended, close: sessions.close };
}
