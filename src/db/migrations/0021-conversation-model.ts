// Stores which model a conversation uses instead of the one in the settings of its user.
import type { Migration } from './migration.ts';

export const conversationModel: Migration = {
  name: '0021-conversation-model',
  kind: 'expand',
  statements: () => ['alter table conversations add column llm_model text'],
};
