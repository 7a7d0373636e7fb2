// Stores what users think of their conversations.
import type { Migration } from './migration.ts';

export const feedback: Migration = {
  name: '0019-feedback',
  kind: 'expand',
  statements: () => [
    `create table feedback (id text not null primary key, user_id bigint not null, conversation_key bigint not null,
      conversation_id text not null, polarity text not null, comment text not null, email text not null,
      version text not null, permissions text not null, created_at bigint not null)`,
    'create index feedback_user on feedback (user_id)',
    'create index feedback_conversation on feedback (conversation_key)',
  ],
};
