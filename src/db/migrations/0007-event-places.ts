// Events under one number in place of two: see src/events/eventKey.ts. Who looks at the database by hand has a view.
import type { Migration } from './migration.ts';

export const eventPlaces: Migration = {
  name: '0007-event-places',
  kind: 'contract',
  statements: (kind) => [
    `create table placed_events (
      place ${kind === 'sqlite' ? 'integer' : 'bigint'} primary key, json text not null)`,
    `insert into placed_events (place, json)
      select (conversation_key << 32) | id, json from events order by conversation_key, id`,
    'drop table events',
    'alter table placed_events rename to events',
    `create view event_log as
      select place >> 32 as conversation_key, place & 4294967295 as id, json from events`,
  ],
};
