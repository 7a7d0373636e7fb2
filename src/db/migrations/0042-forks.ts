// Forks: one snapshot per turn, snapshots that a fork starts with, and where a conversation was forked from.
import type { Migration } from './migration.ts';

export const forks: Migration = {
  name: '0042-forks',
  kind: 'expand',
  statements: () => [
    `create table snapshot_turns (
      snapshot_id text not null, heard bigint not null, given_from bigint not null, blob text not null,
      taken_at bigint not null, primary key (snapshot_id, heard))`,
    'alter table snapshots add column source_id text',
    'alter table snapshots add column source_blob text',
    'create index snapshots_by_source on snapshots (source_id) where source_id is not null',
    'alter table conversations add column forked_from text',
    'alter table conversations add column forked_event bigint',
    'alter table imports add column forked_at bigint',
  ],
};
