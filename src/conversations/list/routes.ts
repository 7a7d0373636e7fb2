// GET /api/conversations, GET of one, and small routes for older clients.
import type { FastifyRequest } from 'fastify';
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

/** The URL under which the client reached the service. */
type BaseUrlOf = (request: FastifyRequest) => string;

function listRoute(app: Server, listing: Listing, baseUrlOf: BaseUrlOf): void {
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
          'The newest conversation comes first. Send `next_page_id` as `page_id` until it is null. With a filter, a page may end early after 100,000 conversations were examined.',
        querystring: ListQuery,
        response: { 200: ConversationList },
      },
    },
    async (request) => listing.list(request.principal, request.query, baseUrlOf(request)),
  );
}

function infoRoute(app: Server, listing: Listing, baseUrlOf: BaseUrlOf): void {
  app.get(
    '/api/conversations/:id',
    {
      config: {
        access,
        document: {
          responses: {
            200: {
              description: 'The conversation, or null if it does not exist.',
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
    async (request, reply) => {
      const { principal, params } = request;
      const info = await listing.info(principal, params.id, baseUrlOf(request));
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
        summary: 'Read the runtime of a conversation',
        description: '`runtime_id` is the id of the latest run, or null before the first one.',
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

/** Routes for features that older clients ask for and Parley does not have. */
function absentRoutes(app: Server, listing: Listing): void {
  app.get(
    '/api/conversations/:id/vscode-url',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'getVscodeUrl',
        summary: 'Read the editor URL',
        description: 'Always null; existing clients request it.',
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
        summary: 'Read the web hosts',
        description: 'Always empty; existing clients request it.',
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

export function listingRoutes(app: Server, listing: Listing, publicUrl: string | undefined): void {
  const baseUrlOf: BaseUrlOf = ({ protocol, host }) => publicUrl ?? `${protocol}://${host}`;
  listRoute(app, listing, baseUrlOf);
  infoRoute(app, listing, baseUrlOf);
  configRoute(app, listing);
  absentRoutes(app, listing);
}
