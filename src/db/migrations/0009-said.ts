// Whether a message of the user still waits for its agent, without reading the log: an idle run may be stopped to make
// room for others, and one that has something to answer may not.
import type { Migration } from '../migrate.ts';

export const said: Migration = {
  name: '0009-said',
  statements: () => [
    'alter table conversations add column said bigint not null default 0',
    // It is not known of older ones: those that live count as if a message waited, until the next one.
    "update conversations set said = next_event where status <> 'STOPPED'",
  ],
};
