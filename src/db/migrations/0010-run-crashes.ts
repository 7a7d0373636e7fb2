// Counts the uncaught errors that runs of a conversation have caused.
import type { Migration } from './migration.ts';

export const runCrashes: Migration = {
  name: '0010-run-crashes',
  kind: 'expand',
  statements: () => ['alter table conversations add column crashes bigint not null default 0'],
};
