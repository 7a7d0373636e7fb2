// GET /api/settings: the full record for a session key, the reduced one for a bearer token.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { needs } from '../http/access.ts';
import { etagMatches } from '../http/conditional.ts';
import type { Server } from '../http/server.ts';
import { fullSettingsExample, reducedSettingsExample } from './examples.ts';
import { FullSettings, ReducedSettings } from './schema.ts';
import type { Rendered, Settings } from './service.ts';

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-cache',
  vary: 'X-Session-API-Key, Authorization, Origin',
};

function send(request: FastifyRequest, reply: FastifyReply, { bytes, etag }: Rendered): void {
  reply.headers(headers).header('etag', etag);
  if (etagMatches(request.headers['if-none-match'], etag)) reply.code(304).send();
  else reply.send(bytes);
}

export function settingsRoutes(app: Server, settings: Settings): void {
  app.get(
    '/api/settings',
    {
      config: {
        access: needs('settings:read', { bearer: true }),
        document: {
          responses: {
            200: {
              description:
                'The full record under X-Session-API-Key; exactly twelve of its members under Authorization: Bearer.',
              anyOf: [FullSettings, ReducedSettings],
              examples: { full: fullSettingsExample, reduced: reducedSettingsExample },
            },
            304: { description: 'The record is the one that If-None-Match names.', anyOf: [] },
          },
        },
      },
      schema: {
        tags: ['Settings'],
        operationId: 'getSettings',
        summary: 'Read your settings',
        description:
          'Secret values are never shown: their members are null and the `…_set` members tell whether they are stored. Answers carry an ETag; If-None-Match gives 304.',
      },
    },
    (request, reply) => {
      const { userId, via } = request.principal;
      const rendered = settings.get(userId, via);
      if (!(rendered instanceof Promise)) return send(request, reply, rendered);
      rendered.then((ready) => send(request, reply, ready)).catch((error: Error) => reply.send(error));
    },
  );
}
