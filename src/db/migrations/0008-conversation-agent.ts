// Stores which agent a conversation uses, so that it keeps that agent when the settings change.
import type { Migration } from './migration.ts';

export const conversationAgent: Migration = {
  name: '0008-conversation-agent',
  kind: 'contract',
  statements: (kind) => {
    const firstWord =
      kind === 'sqlite'
        ? "substr(agent_session, 1, instr(agent_session, ' ') - 1)"
        : "split_part(agent_session, ' ', 1)";
    return [
      'alter table conversations add column agent text',
      // The agent's id used to be the first word of the session id.
      `update conversations set agent = ${firstWord} where agent_session is not null`,
    ];
  },
};
