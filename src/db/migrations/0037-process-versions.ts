// The version and the worker slots of each process, for operators.
import type { Migration } from './migration.ts';

export const processVersions: Migration = {
  name: '0037-process-versions',
  kind: 'expand',
  statements: () => [
    // Empty for processes of older versions.
    "alter table nodes add column version text not null default ''",
    'alter table nodes add column slots bigint not null default 0',
  ],
};
