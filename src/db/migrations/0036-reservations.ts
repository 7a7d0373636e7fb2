// Reserves waiting conversations for the machine that has their files.
import type { Migration } from './migration.ts';

const isWaiting = "run_id is null and status <> 'STOPPED'";

export const reservations: Migration = {
  name: '0036-reservations',
  kind: 'expand',
  statements: () => [
    "alter table conversations add column reserved_for text not null default ''",
    'alter table conversations add column reserved_until bigint not null default 0',
    // Processes of older versions do not say, so that nothing waits for them.
    'alter table nodes add column takes_work bigint not null default 0',
    'drop index conversations_waiting',
    `create index conversations_waiting on conversations (user_id, reserved_for, key) where ${isWaiting}`,
    `create index conversations_reserved on conversations (reserved_for, reserved_until)
     where ${isWaiting} and reserved_for <> ''`,
  ],
};
