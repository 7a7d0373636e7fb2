// Stores what the requests of a webhook look like: Parley's own form, or that of a chat service.
import type { Migration } from './migration.ts';

export const webhookFormats: Migration = {
  name: '0022-webhook-formats',
  kind: 'expand',
  statements: () => ["alter table webhooks add column format text not null default 'parley'"],
};
