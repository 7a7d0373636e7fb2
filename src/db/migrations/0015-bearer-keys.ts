// Stores which API keys are also accepted as Authorization: Bearer on every route.
import type { Migration } from './migration.ts';

export const bearerKeys: Migration = {
  name: '0015-bearer-keys',
  kind: 'expand',
  statements: () => ['alter table keys add column bearer integer not null default 0'],
};
