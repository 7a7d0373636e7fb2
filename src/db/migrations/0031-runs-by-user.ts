// Finds the runs of a user, so that the cost of a claim does not grow with the runs of all users.
import type { Migration } from './migration.ts';

export const runsByUser: Migration = {
  name: '0031-runs-by-user',
  kind: 'expand',
  statements: () => ['create index conversations_runs on conversations (user_id) where run_id is not null'],
};
