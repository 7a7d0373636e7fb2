// What each user spends on models per day, what open model requests may still cost, and the budgets of single users.
import type { Migration } from './migration.ts';

export const spending: Migration = {
  name: '0035-spending',
  kind: 'expand',
  statements: (kind) => [
    `create table spending (
      user_id bigint not null references users (id), day bigint not null, cost_nanos bigint not null,
      primary key (user_id, day))${kind === 'sqlite' ? ' without rowid' : ''}`,
    `create table budget_reservations (
      id text not null primary key, user_id bigint not null, conversation_key bigint not null, run_id text not null,
      cost_nanos bigint not null)`,
    'create index budget_reservations_by_user on budget_reservations (user_id)',
    'alter table users add column budget_day_nanos bigint',
    'alter table users add column budget_month_nanos bigint',
  ],
};
