// Stores when somebody last followed a conversation, so that those that nobody follows can stop when they are done.
import type { Migration } from './migration.ts';

export const followed: Migration = {
  name: '0016-followed',
  kind: 'expand',
  statements: () => ['alter table conversations add column followed_at bigint'],
};
