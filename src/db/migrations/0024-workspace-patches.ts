// Stores the patches that workspaces start with.
import type { Migration } from './migration.ts';

export const workspacePatches: Migration = {
  name: '0024-workspace-patches',
  kind: 'expand',
  statements: () => [
    'create table workspace_patches (conversation_key bigint not null primary key, patch text not null)',
  ],
};
