// The snapshot store of each process, for operators.
import type { Migration } from './migration.ts';

export const processStores: Migration = {
  name: '0040-process-stores',
  kind: 'expand',
  statements: () => [
    // Empty for processes of older versions, and until the store was read.
    "alter table nodes add column snapshot_store text not null default ''",
  ],
};
