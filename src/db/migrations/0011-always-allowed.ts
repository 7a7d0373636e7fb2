// Kinds of tools that the user of a conversation has allowed for good: its agent may remember that longer than a run.
import type { Migration } from '../migrate.ts';

export const alwaysAllowed: Migration = {
  name: '0011-always-allowed',
  statements: () => ['alter table conversations add column always_allowed text'],
};
