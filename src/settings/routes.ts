// /api/settings: reading, in the form for the credential, and writing, as existing clients do or as a merge patch.
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError } from '../errors.ts';
import { needs } from '../http/access.ts';
import { etagMatches } from '../http/conditional.ts';
import { jsonType } from '../http/errors.ts';
import type { FastRoute } from '../http/fastLane.ts';
import { Message } from '../http/message.ts';
import type { Server } from '../http/routeTable.ts';
import { fullSettingsExample, reducedSettingsExample, writeExample } from './examples.ts';
import { FullSettings, PatchSettings, PostSettings, ReducedSettings } from './schema.ts';
import type { Rendered, Settings } from './service.ts';

const scope = 'settings:read';

const headers = {
  'content-type': jsonType,
  'cache-control': 'private, no-cache',
  vary: 'X-Session-API-Key, Authorization, Origin',
};

function send(request: FastifyRequest, reply: FastifyReply, { text, etag }: Rendered): void {
  reply.headers(headers).header('etag', etag);
  if (etagMatches(request.headers['if-none-match'], etag)) reply.code(304).send();
  else reply.send(text);
}

const IfMatch = Type.Object({
  'if-match': Type.Optional(Type.String({ description: 'The ETag of the settings that you read.' })),
});

/** GET of the full settings on the fast lane. */
export function fastSettingsRoute(settings: Settings): FastRoute {
  return {
    url: '/api/settings',
    scope,
    headers,
    find: ({ userId, via }) => settings.find(userId, via),
  };
}

export function settingsRoutes(app: Server, settings: Settings): void {
  app.get(
    '/api/settings',
    {
      config: {
        access: needs(scope, { bearer: true }),
        document: {
          responses: {
            200: {
              description:
                'All fields for X-Session-API-Key; exactly twelve fields for Authorization: Bearer.',
              anyOf: [FullSettings, ReducedSettings],
              examples: { full: fullSettingsExample, reduced: reducedSettingsExample },
            },
            304: { description: 'The settings have not changed.', anyOf: [] },
          },
        },
      },
      schema: {
        tags: ['Settings'],
        operationId: 'getSettings',
        summary: 'Read your settings',
        description:
          'Secret values are never returned: their fields are null, and the `…_set` fields show whether a value is stored. Responses have an ETag; If-None-Match returns 304.',
      },
    },
    (request, reply) => {
      const { userId, via } = request.principal;
      const rendered = settings.get(userId, via);
      if (!(rendered instanceof Promise)) return send(request, reply, rendered);
      rendered.then((ready) => send(request, reply, ready)).catch((error: Error) => reply.send(error));
    },
  );

  app.post(
    '/api/settings',
    {
      config: {
        access: needs('settings:write'),
        document: {
          requestExamples: { model: writeExample },
          errors: ['precondition_failed', 'sealing_key_missing'],
        },
      },
      schema: {
        tags: ['Settings'],
        operationId: 'storeSettings',
        summary: 'Store settings',
        description:
          'Merges into your settings: an absent field keeps its value, and so does null for `llm_model`, `llm_base_url`, `user_consents_to_analytics` and the three API keys, for which an empty string and the mask keep it as well. Otherwise null and an empty string clear the field. Unknown and read-only fields are ignored, but a `secrets_store` with values is rejected: store them with POST /api/secrets and POST /api/add-git-providers.',
        headers: IfMatch,
        body: PostSettings,
        response: { 200: Message },
      },
    },
    async (request) => {
      await settings.update(request.principal, 'post', request.body, request.headers['if-match']);
      return { message: 'Settings stored' };
    },
  );

  app.patch(
    '/api/settings',
    {
      config: {
        access: needs('settings:write'),
        document: {
          requestExamples: { model: writeExample },
          errors: ['precondition_failed', 'sealing_key_missing'],
          responses: {
            200: {
              description: 'The updated settings.',
              anyOf: [FullSettings],
              examples: { full: fullSettingsExample },
            },
          },
        },
      },
      schema: {
        tags: ['Settings'],
        operationId: 'patchSettings',
        summary: 'Change settings',
        description:
          'A JSON merge patch (RFC 7396): null clears a field or resets a boolean to its default; unknown fields are rejected. With If-Match, the change is rejected if the settings have changed since you read them.',
        headers: IfMatch,
        body: PatchSettings,
      },
    },
    async (request, reply) => {
      const { userId, via } = request.principal;
      await settings.update(request.principal, 'patch', request.body, request.headers['if-match']);
      const { text, etag } = await settings.getChanged(userId, via);
      return reply.headers(headers).header('etag', etag).send(text);
    },
  );

  app.post(
    '/api/reset-settings',
    {
      config: { access: needs('settings:write') },
      schema: {
        // Generated clients should have no method that always fails.
        hide: true,
      },
    },
    async () => {
      throw new AppError(
        'gone',
        'Settings cannot be reset as a whole; clear fields with PATCH /api/settings.',
      );
    },
  );
}
