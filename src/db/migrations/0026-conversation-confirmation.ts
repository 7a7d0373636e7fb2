// Stores whether the user has to approve actions in a conversation, instead of what the settings of the user say.
import type { Migration } from './migration.ts';

export const conversationConfirmation: Migration = {
  name: '0026-conversation-confirmation',
  kind: 'expand',
  statements: () => ['alter table conversations add column confirmation_mode integer'],
};
