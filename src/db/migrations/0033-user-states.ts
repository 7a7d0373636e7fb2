// Users can be disabled and removed. What a removed user owns is deleted later, in steps.
import type { Migration } from './migration.ts';

export const userStates: Migration = {
  name: '0033-user-states',
  kind: 'expand',
  statements: () => [
    ...['disabled_at', 'removed_at', 'purging_at', 'purged_at'].map(
      (column) => `alter table users add column ${column} bigint`,
    ),
    `create index users_inactive on users (id)
      where (disabled_at is not null or removed_at is not null) and purged_at is null`,
    'create index snapshots_by_user on snapshots (user_id)',
  ],
};
