// An ACP client of the official SDK, which keeps what it gets.
import {
  type ClientCapabilities,
  type ClientConnection,
  client,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
  type Stream,
} from '@agentclientprotocol/sdk';
import type { AcpApp } from '../../src/acp/app.ts';

export interface TestAcpClient {
  readonly context: ClientConnection['agent'];
  readonly permissions: RequestPermissionRequest[];
  /** Requests that the agent took back. */
  readonly withdrawn: string[];
  updates(sessionId: string): SessionUpdate[];
  /** The text of the chunks of a kind, in order. */
  text(sessionId: string, kind?: string): string;
  newSession(): Promise<string>;
  prompt(sessionId: string, text: string): Promise<string>;
  close(): void;
}

type Decide = (
  request: RequestPermissionRequest,
  signal: AbortSignal,
) => Promise<RequestPermissionResponse> | RequestPermissionResponse;

export const choose = (optionId: string): RequestPermissionResponse => ({
  outcome: { outcome: 'selected', optionId },
});

export interface AcpClientOptions {
  readonly decide?: Decide;
  readonly capabilities?: ClientCapabilities;
}

export async function connectAcp(
  target: AcpApp['app'] | Stream,
  { decide = () => choose('allow'), capabilities = {} }: AcpClientOptions = {},
): Promise<TestAcpClient> {
  const received: SessionNotification[] = [];
  const permissions: RequestPermissionRequest[] = [];
  const withdrawn: string[] = [];
  const app = client({ name: 'test-client' })
    .onNotification(methods.client.session.update, ({ params }) => void received.push(params))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      permissions.push(params);
      signal.addEventListener('abort', () => withdrawn.push(params.toolCall.toolCallId));
      return decide(params, signal);
    });
  const connection = app.connect(target as Stream);
  const context = connection.agent;
  await context.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: capabilities,
  });
  const updates = (id: string) =>
    received.filter(({ sessionId }) => sessionId === id).map(({ update }) => update);
  return {
    context,
    permissions,
    withdrawn,
    updates,
    text: (id, kind = 'agent_message_chunk') =>
      updates(id)
        .map((update) => (update.sessionUpdate === kind && 'content' in update ? update.content : undefined))
        .map((content) =>
          content && 'type' in content && content.type === 'text' && 'text' in content ? content.text : '',
        )
        .join(''),
    newSession: async () => {
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: '/', mcpServers: [] });
      return sessionId;
    },
    prompt: async (sessionId, text) => {
      const prompt = [{ type: 'text' as const, text }];
      const { stopReason } = await context.request<PromptResponse>(methods.agent.session.prompt, {
        sessionId,
        prompt,
      });
      return stopReason;
    },
    close: () => connection.close(),
  };
}
