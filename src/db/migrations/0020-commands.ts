// Stores how many commands of the user a run has not answered yet, and where the first of them is in the log.
import type { Migration } from './migration.ts';

export const commands: Migration = {
  name: '0020-commands',
  kind: 'expand',
  statements: () => [
    'alter table conversations add column commands integer not null default 0',
    'alter table conversations add column command_from bigint',
  ],
};
