// The ACP client of a session: it receives updates and answers approval requests.
import {
  type AgentContext,
  methods,
  type PermissionOption,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';

export type Decision = 'once' | 'always' | 'rejected' | 'cancelled';

export interface AcpClient {
  /** Updates arrive in order. */
  send(update: SessionUpdate): Promise<void>;
  requestApproval(call: ToolCallUpdate): Promise<Decision>;
}

const options: readonly PermissionOption[] = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'rejected', name: 'Reject', kind: 'reject_once' },
];

export function createClient(context: AgentContext, sessionId: string): AcpClient {
  return {
    send: (update) => context.notify(methods.client.session.update, { sessionId, update }),
    requestApproval: async (toolCall) => {
      const { outcome } = await context.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall,
        options: [...options],
      });
      return outcome.outcome === 'selected' ? (outcome.optionId as Decision) : 'cancelled';
    },
  };
}
