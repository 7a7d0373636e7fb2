// GET /api/me, and POST, GET and DELETE /api/keys.
import Type from 'typebox';
import { needs, needsKey } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { createdKeyExample, meExample, newKeyExample } from './examples.ts';
import { describePrincipal } from './principal.ts';
import { CreatedKey, KeyList, KeyRecord, Me, NewKey } from './schema.ts';
import type { Keys } from './service.ts';

const KeyId = Type.Object({ id: Type.String({ maxLength: 64, description: 'Id of the key.' }) });

export function keyRoutes(app: Server, keys: Keys): void {
  app.get(
    '/api/me',
    {
      config: { access: needsKey, document: { responseExamples: { laptop: meExample } } },
      schema: {
        tags: ['Keys'],
        operationId: 'getMe',
        summary: 'Read the current API key',
        description: 'Returns user, name, scopes and expiry. No scope is required.',
        response: { 200: Me },
      },
    },
    async (request) => describePrincipal(request.principal),
  );

  app.post(
    '/api/keys',
    {
      config: {
        access: needs('keys:manage'),
        document: {
          errors: ['user_inactive'],
          requestExamples: { laptop: newKeyExample },
          responseExamples: { laptop: createdKeyExample },
        },
      },
      schema: {
        tags: ['Keys'],
        operationId: 'createKey',
        summary: 'Create an API key',
        description:
          'The response contains the credential in `key`. It is shown only once. A key expires no later than the key or session that creates it, and stays valid if that is revoked or ended before.',
        body: NewKey,
        response: { 201: CreatedKey },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return keys.create(request.principal, request.body);
    },
  );

  app.get(
    '/api/keys',
    {
      config: { access: needs('keys:manage') },
      schema: {
        tags: ['Keys'],
        operationId: 'listKeys',
        summary: 'List API keys',
        description: 'Revoked and expired keys are included. The credentials themselves are not shown.',
        response: { 200: KeyList },
      },
    },
    async (request) => ({ keys: await keys.list(request.principal) }),
  );

  app.delete(
    '/api/keys/:id',
    {
      config: { access: needs('keys:manage') },
      schema: {
        tags: ['Keys'],
        operationId: 'revokeKey',
        summary: 'Revoke an API key',
        description:
          'The key stops working immediately, and within a second in other processes. Its record is kept.',
        params: KeyId,
        response: { 200: KeyRecord },
      },
    },
    async (request) => keys.revoke(request.principal, request.params.id),
  );
}
