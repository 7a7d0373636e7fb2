// Examples of what a search finds, for the reference.
import type { ConversationMatches, SearchResults } from './schema.ts';

const match = {
  event_id: 12,
  source: 'agent',
  timestamp: '2026-01-31T12:04:00.000Z',
  snippet: 'The parser test fails because of an empty line.',
  ranges: [
    { start: 4, end: 10 },
    { start: 11, end: 15 },
  ],
} as const;

export const matchesExample: ConversationMatches = {
  matches: [{ ...match, ranges: [...match.ranges] }],
  next_page_id: null,
};

export const resultsExample: SearchResults = {
  results: [
    {
      conversation_id: '01990f3c5a7b7c1e9d2f4b6a8c0e1f23',
      title: 'Fix the failing parser test.',
      title_ranges: [
        { start: 16, end: 22 },
        { start: 23, end: 27 },
      ],
      status: 'STOPPED',
      selected_repository: 'acme/shop',
      archived: false,
      last_updated_at: '2026-01-31T12:05:00.000Z',
      matches: matchesExample.matches,
      more_matches: false,
    },
  ],
  next_page_id: null,
};
