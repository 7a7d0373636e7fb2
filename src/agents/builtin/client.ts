// Whoever started the agent, as a session sees them: told what happens, and asked for leave.
import {
  type AgentContext,
  methods,
  type PermissionOption,
  type SessionUpdate,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';

export type Leave = 'once' | 'always' | 'rejected' | 'cancelled';

export interface Client {
  /** Told in order. */
  tell(update: SessionUpdate): Promise<void>;
  ask(call: ToolCallUpdate): Promise<Leave>;
}

const options: readonly PermissionOption[] = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'rejected', name: 'Reject', kind: 'reject_once' },
];

export function createClient(context: AgentContext, sessionId: string): Client {
  return {
    tell: (update) => context.notify(methods.client.session.update, { sessionId, update }),
    ask: async (toolCall) => {
      const { outcome } = await context.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall,
        options: [...options],
      });
      return outcome.outcome === 'selected' ? (outcome.optionId as Leave) : 'cancelled';
    },
  };
}
