// Stores which event an idempotency key of a message belongs to.
import type { Migration } from './migration.ts';

export const messageKeys: Migration = {
  name: '0023-message-keys',
  kind: 'expand',
  statements: () => ['alter table idempotency add column event_id bigint'],
};
