// Stores up to which event the user has cancelled turns and messages.
import type { Migration } from './migration.ts';

export const cancelled: Migration = {
  name: '0025-cancelled',
  kind: 'expand',
  statements: () => ['alter table conversations add column cancelled bigint not null default 0'],
};
