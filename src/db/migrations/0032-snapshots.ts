// Stores where the snapshots of workspaces are.
import type { Migration } from './migration.ts';

export const snapshots: Migration = {
  name: '0032-snapshots',
  kind: 'expand',
  statements: () => [
    `create table snapshots (
      id text not null primary key, conversation_key bigint not null, user_id bigint not null,
      conversation_id text not null, sealed text not null, blob text, taken_at bigint, heard bigint,
      created_at bigint not null, removed_at bigint)`,
    // A key is used again on SQLite after its conversation was deleted.
    'create unique index snapshots_by_conversation on snapshots (conversation_key) where removed_at is null',
    'create index snapshots_removed on snapshots (removed_at) where removed_at is not null',
  ],
};
