// GET /api/search, and GET …/search of one conversation.
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { ConversationParams } from '../id.ts';
import { matchesExample, resultsExample } from './examples.ts';
import { ConversationMatches, SearchQuery, SearchResults } from './schema.ts';
import type { Search } from './service.ts';

const access = needs('conversations:read');
const tags = ['Conversations'];

export function searchRoutes(app: Server, search: Search): void {
  app.get(
    '/api/search',
    {
      config: { access, document: { responseExamples: { page: resultsExample } } },
      schema: {
        tags,
        operationId: 'searchConversations',
        summary: 'Search your conversations',
        description:
          'Searches titles, messages, commands, the beginning of their output, paths of edited files, and errors. The newest conversation comes first, and in it the newest event. Send `next_page_id` as `page_id` until it is null; a page may be short, or even empty, before that. What was just said can be found a few seconds later.',
        querystring: SearchQuery,
        response: { 200: SearchResults },
      },
    },
    async ({ principal, query }) => search.all(principal, query),
  );

  app.get(
    '/api/conversations/:id/search',
    {
      config: { access, document: { responseExamples: { page: matchesExample } } },
      schema: {
        tags,
        operationId: 'searchConversation',
        summary: 'Search the events of a conversation',
        description: 'As the search over all conversations, but returns every event that matches.',
        params: ConversationParams,
        querystring: SearchQuery,
        response: { 200: ConversationMatches },
      },
    },
    async ({ principal, params, query }) => search.one(principal, params.id, query),
  );
}
