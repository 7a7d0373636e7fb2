// The volume in a cluster that has the files of a conversation.
import type { Migration } from './migration.ts';

export const volumes: Migration = {
  name: '0041-volumes',
  kind: 'expand',
  statements: () => ['alter table conversations add column workspace_volume text'],
};
