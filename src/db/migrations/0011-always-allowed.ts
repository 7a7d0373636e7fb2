// Stores which kinds of tools the user has always allowed, because the agent may remember that beyond one run.
import type { Migration } from './migration.ts';

export const alwaysAllowed: Migration = {
  name: '0011-always-allowed',
  kind: 'expand',
  statements: () => ['alter table conversations add column always_allowed text'],
};
