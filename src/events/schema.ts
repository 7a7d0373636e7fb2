// Requests and responses of the routes that read events.
import Type from 'typebox';
import { flag, oneOf } from '../validation/schema.ts';
import { partialKinds } from './decoder/openTexts.ts';
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

export const EventStreamQuery = Type.Object({
  ...StreamQuery.properties,
  partials: Type.Optional(
    flag('If true, text and output that are still being written are sent, too, as events named `partial`.'),
  ),
});

export const PartialText = Type.Object(
  {
    of: Type.String({
      description: 'The `tool_call_id` for output, else the id in `partial.of` of the event that follows.',
    }),
    kind: oneOf(partialKinds),
    from: Type.Integer({
      minimum: 0,
      description: 'The position of `text` in UTF-16 units. What was there from here on is replaced.',
    }),
    text: Type.String(),
  },
  {
    $id: 'PartialText',
    description: 'Text that is not in the log yet. It has no `id:`, and no request returns it again.',
    additionalProperties: false,
  },
);

export const StreamHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The id of the last event that you received. Browsers send it automatically.',
    }),
  ),
});
