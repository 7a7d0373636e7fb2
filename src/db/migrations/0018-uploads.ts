// Stores which uploaded files wait for the start of their conversation.
import type { Migration } from './migration.ts';

export const uploads: Migration = {
  name: '0018-uploads',
  kind: 'expand',
  statements: () => [
    `create table uploads (id text not null primary key, conversation_key bigint not null, user_id bigint not null,
      node_id text not null, files integer not null, bytes bigint not null, created_at bigint not null)`,
    'create index uploads_conversation on uploads (conversation_key)',
    'create index uploads_user on uploads (user_id)',
  ],
};
