// Stores of each migration whether older versions can go on working after it. Those before this one count as contracts,
// because versions without this column accept no unknown migration at all.
import type { Migration } from './migration.ts';

export const migrationKinds: Migration = {
  name: '0028-migration-kinds',
  kind: 'contract',
  statements: () => ["alter table migrations add column kind text not null default 'contract'"],
};
