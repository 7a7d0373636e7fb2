// Webhooks, and the messages that wait to be sent to them or were given up.
import type { Migration } from './migration.ts';

export const webhooks: Migration = {
  name: '0004-webhooks',
  kind: 'expand',
  statements: (kind) => {
    const clustered = kind === 'sqlite' ? ' without rowid' : '';
    return [
      `create table webhooks (
        id text not null primary key, user_id bigint not null references users (id), url text not null,
        events text not null, sealed text not null, description text, created_at bigint not null)`,
      'create index webhooks_by_user on webhooks (user_id, id)',
      `create table deliveries (
        id text not null primary key, webhook_id text not null, user_id bigint not null,
        conversation_key bigint not null, conversation_id text not null, type text not null, payload text,
        event_id bigint, created_at bigint not null, state text not null, since bigint not null,
        attempts bigint not null, next_at bigint not null, last_status bigint, last_error text)${clustered}`,
      // Goes from webhook to webhook, so that a long queue of one is no burden to the others.
      'create index deliveries_due on deliveries (state, webhook_id, next_at, id)',
      'create index deliveries_by_webhook on deliveries (webhook_id, state, id)',
      'create index deliveries_of_events on deliveries (conversation_key) where event_id is not null',
      "create index deliveries_failed on deliveries (since) where state = 'failed'",
    ];
  },
};
