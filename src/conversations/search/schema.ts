// Searches, and what they find.
import Type from 'typebox';
import { eventSources } from '../../events/decoder/words.ts';
import { kib, oneOf, orNull, text, time } from '../../validation/schema.ts';
import { conversationStatuses } from '../states.ts';
import { matchesMax } from './findStore.ts';
import { queryWordsMax } from './query.ts';

export const searchMax = 50;
export const searchDefault = 20;

const queryField = text({
  bytesMax: kib,
  description: `Words, "phrases" and prefixes* (at least two characters), all of which must be in the same message, command, output, path or title. Case and accents do not matter. At most ${queryWordsMax} words.`,
});

export const SearchQuery = Type.Object({
  q: queryField,
  limit: Type.Optional(
    Type.String({ maxLength: 16, description: `1 to ${searchMax}. Default: ${searchDefault}.` }),
  ),
  page_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'The next_page_id of the previous page.' }),
  ),
});
export type SearchQuery = Type.Static<typeof SearchQuery>;

const position = { minimum: 0 };

export const MatchRange = Type.Object(
  { start: Type.Integer(position), end: Type.Integer(position) },
  {
    $id: 'MatchRange',
    additionalProperties: false,
    description: 'From `start` up to, but not including, `end`, in UTF-16 code units.',
  },
);

export const SearchMatch = Type.Object(
  {
    event_id: Type.Integer({ minimum: 0, description: 'The event that matches.' }),
    source: oneOf(eventSources),
    timestamp: time(),
    snippet: Type.String({ description: 'The text around the first match, at most 240 characters.' }),
    ranges: Type.Array(MatchRange, { description: 'What matches in the snippet.' }),
  },
  { $id: 'SearchMatch', additionalProperties: false },
);

export const SearchResult = Type.Object(
  {
    conversation_id: Type.String(),
    title: Type.String(),
    title_ranges: Type.Array(MatchRange, { description: 'What matches in the title; often nothing.' }),
    status: oneOf(conversationStatuses),
    selected_repository: orNull(Type.String()),
    archived: Type.Boolean(),
    last_updated_at: time(),
    matches: Type.Array(SearchMatch, {
      description: `The newest ${matchesMax} events that match; none if only the title does.`,
    }),
    more_matches: Type.Boolean({ description: 'Whether more events of the conversation match.' }),
  },
  { $id: 'SearchResult', additionalProperties: false },
);

export const SearchResults = Type.Object(
  { results: Type.Array(SearchResult), next_page_id: orNull(Type.String()) },
  { $id: 'SearchResults', additionalProperties: false },
);
export type SearchResults = Type.Static<typeof SearchResults>;

export const ConversationMatches = Type.Object(
  { matches: Type.Array(SearchMatch), next_page_id: orNull(Type.String()) },
  { $id: 'ConversationMatches', additionalProperties: false },
);
export type ConversationMatches = Type.Static<typeof ConversationMatches>;
