// The agent that works on a conversation, so that a change of the settings does not change it.
import type { Migration } from '../migrate.ts';

export const conversationAgent: Migration = {
  name: '0008-conversation-agent',
  statements: (kind) => {
    const firstWord =
      kind === 'sqlite'
        ? "substr(agent_session, 1, instr(agent_session, ' ') - 1)"
        : "split_part(agent_session, ' ', 1)";
    return [
      'alter table conversations add column agent text',
      // Until now the id of the agent was stored before the id of its session.
      `update conversations set agent = ${firstWord} where agent_session is not null`,
    ];
  },
};
