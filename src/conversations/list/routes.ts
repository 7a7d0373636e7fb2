// GET /api/conversations, GET of one, and the small facts about it that older clients ask for.

import { needs } from '../../http/access.ts';
import { jsonType } from '../../http/errors.ts';
import type { Server } from '../../http/routeTable.ts';
import { ConversationParams } from '../id.ts';
import { infoExample } from './examples.ts';
import {
  ConversationConfig,
  ConversationList,
  ListQuery,
  NullableInfo,
  VscodeUrl,
  WebHosts,
} from './schema.ts';
import type { Listing } from './service.ts';

const access = needs('conversations:read');
const tags = ['Conversations'];

function listRoute(app: Server, listing: Listing): void {
  app.get(
    '/api/conversations',
    {
      config: {
        access,
        document: { responseExamples: { page: { results: [infoExample], next_page_id: null } } },
      },
      schema: {
        tags,
        operationId: 'listConversations',
        summary: 'List your conversations',
        description:
          'Newest first. Send `next_page_id` back as `page_id` until it is null. A filter that fits hardly anything may end a page early, after 100,000 conversations were looked at.',
        querystring: ListQuery,
        response: { 200: ConversationList },
      },
    },
    async ({ principal, query }) => listing.list(principal, query),
  );
}

function infoRoute(app: Server, listing: Listing): void {
  app.get(
    '/api/conversations/:id',
    {
      config: {
        access,
        document: {
          responses: {
            200: {
              description: 'The conversation; null where you have none of that id.',
              anyOf: [NullableInfo],
              examples: { stopped: infoExample },
            },
          },
        },
      },
      schema: {
        tags,
        operationId: 'getConversation',
        summary: 'Read a conversation',
        description: 'Returns null, and not 404, if you have no conversation with this id.',
        params: ConversationParams,
      },
    },
    async ({ principal, params }, reply) => {
      const info = await listing.info(principal, params.id);
      // Fastify sends nothing for null.
      return info ?? reply.type(jsonType).send('null');
    },
  );
}

function configRoute(app: Server, listing: Listing): void {
  app.get(
    '/api/conversations/:id/config',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'getConversationConfig',
        summary: 'Read what runs a conversation',
        description: '`runtime_id` is the id of the latest run; null before the first.',
        params: ConversationParams,
        response: { 200: ConversationConfig },
      },
    },
    async ({ principal, params }) => ({
      runtime_id: await listing.runOf(principal, params.id),
      session_id: params.id,
    }),
  );
}

/** What older clients ask for and Parley does not have. */
function absentRoutes(app: Server, listing: Listing): void {
  app.get(
    '/api/conversations/:id/vscode-url',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'getVscodeUrl',
        summary: 'Ask for an editor',
        description: 'There is none; older clients ask.',
        params: ConversationParams,
        response: { 200: VscodeUrl },
      },
    },
    async ({ principal, params }) => {
      await listing.runOf(principal, params.id);
      return { vscode_url: null };
    },
  );

  app.get(
    '/api/conversations/:id/web-hosts',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'getWebHosts',
        summary: 'Ask for servers of the agent',
        description: 'There are none; older clients ask.',
        params: ConversationParams,
        response: { 200: WebHosts },
      },
    },
    async ({ principal, params }) => {
      await listing.runOf(principal, params.id);
      return { hosts: {} };
    },
  );
}

export function listingRoutes(app: Server, listing: Listing): void {
  listRoute(app, listing);
  infoRoute(app, listing);
  configRoute(app, listing);
  absentRoutes(app, listing);
}
