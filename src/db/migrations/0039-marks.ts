// Pinned and archived conversations, and how far their user has read them.
import type { Migration } from './migration.ts';

// What exists counts as read. PostgreSQL need not rewrite its rows for that: null means read, too.
const seen = {
  sqlite: [
    'alter table conversations add column seen bigint default 0',
    'update conversations set seen = next_event',
  ],
  postgres: [
    'alter table conversations add column seen bigint',
    'alter table conversations alter column seen set default 0',
  ],
};

export const marks: Migration = {
  name: '0039-marks',
  kind: 'expand',
  statements: (kind) => [
    'alter table conversations add column pinned bigint not null default 0',
    'alter table conversations add column archived bigint not null default 0',
    ...seen[kind],
  ],
};
