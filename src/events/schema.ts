// Requests and responses of the routes that read events.
import Type from 'typebox';
import { flag } from '../validation/schema.ts';
import { Event } from './vocabulary/vocabulary.ts';

export const eventsPageMax = 100;

const Whole = (description: string) => Type.String({ pattern: '^\\d{1,15}$', description });

export const EventsQuery = Type.Object({
  start_id: Type.Optional(Whole('The first id of the page. Default: 0.')),
  end_id: Type.Optional(Whole('The last id of the page. Default: the newest.')),
  reverse: Type.Optional(flag('If true, the newest event comes first.')),
  limit: Type.Optional(Type.String({ maxLength: 16, description: `1 to ${eventsPageMax}. Default: 20.` })),
});
export type EventsQuery = Type.Static<typeof EventsQuery>;

export const EventsPage = Type.Object(
  { events: Type.Array(Event), has_more: Type.Boolean() },
  { $id: 'EventsPage', additionalProperties: false },
);

export const Trajectory = Type.Object(
  { trajectory: Type.Array(Event) },
  { $id: 'Trajectory', additionalProperties: false },
);

export const StreamQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The id of the last event that you received. `Last-Event-ID` takes precedence.',
    }),
  ),
});

export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The id of the last event that you received. Browsers send it automatically.',
    }),
  ),
});
