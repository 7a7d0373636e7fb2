// /api/users/{name}/identities: accounts at the provider that may sign in as a user, for administrators.
import Type from 'typebox';
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { UserParams, userParam } from '../users/schema.ts';
import { identityExample } from './examples.ts';
import type { Identities } from './identityService.ts';
import { IdentityList, IdentityRecord, NewIdentity } from './schema.ts';

const IdentityParams = Type.Object({
  name: userParam,
  id: Type.String({ maxLength: 64, description: 'Id of the linked account.' }),
});

const access = needs('admin');
const tags = ['Sign-in'];
const path = '/api/users/:name/identities';

export function identityRoutes(app: Server, identities: Identities): void {
  app.get(
    path,
    {
      config: { access, document: { responseExamples: { one: { identities: [identityExample] } } } },
      schema: {
        tags,
        operationId: 'listIdentities',
        summary: 'List linked accounts of a user',
        description: 'These accounts at the sign-in provider sign in as the user.',
        params: UserParams,
        response: { 200: IdentityList },
      },
    },
    async ({ params }) => ({ identities: await identities.list(params.name) }),
  );

  app.post(
    path,
    {
      config: {
        access,
        document: {
          errors: ['identity_exists'],
          requestExamples: { ada: { subject: identityExample.subject } },
          responseExamples: { ada: identityExample },
        },
      },
      schema: {
        tags,
        operationId: 'linkIdentity',
        summary: 'Link an account to a user',
        description: 'Whoever has this account at the sign-in provider can then sign in as the user.',
        params: UserParams,
        body: NewIdentity,
        response: { 201: IdentityRecord },
      },
    },
    async ({ principal, params, body }, reply) => {
      reply.code(201);
      return identities.link(principal.keyId, params.name, body);
    },
  );

  app.delete(
    `${path}/:id`,
    {
      config: { access },
      schema: {
        tags,
        operationId: 'unlinkIdentity',
        summary: 'Unlink an account from a user',
        description: 'Sessions of that account end. API keys that were created in them stay valid.',
        params: IdentityParams,
        response: { 200: IdentityRecord },
      },
    },
    async ({ principal, params }) => identities.unlink(principal.keyId, params.name, params.id),
  );
}
