// Shows without reading the log whether a user message is unanswered. An idle run may be stopped to free its slot, but
// not while it has a message to answer.
import type { Migration } from './migration.ts';

export const said: Migration = {
  name: '0009-said',
  kind: 'contract',
  statements: () => [
    'alter table conversations add column said bigint not null default 0',
    // Older conversations do not have this information; running ones count as having an unanswered message.
    "update conversations set said = next_event where status <> 'STOPPED'",
  ],
};
