// /api/users: users, for administrators.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { UserParams } from '../users/schema.ts';
import { userExample } from './examples.ts';
import { ChangeUser, NewUser, UserList, UserRecord } from './schema.ts';
import type { Accounts } from './service.ts';

const access = needs('admin');
const document = { responseExamples: { ada: userExample } };
const tags = ['Users'];

export function accountRoutes(app: Server, accounts: Accounts): void {
  app.get(
    '/api/users',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        description:
          'The first 10,000 users by name. Removed users are included until their data is deleted.',
        response: { 200: UserList },
      },
    },
    async () => ({ users: await accounts.list() }),
  );

  app.post(
    '/api/users',
    {
      config: {
        access,
        document: { ...document, errors: ['user_exists'], requestExamples: { ada: { name: 'ada' } } },
      },
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Create a user',
        description: 'A user without API keys cannot log in: create one with `POST /api/keys`.',
        body: NewUser,
        response: { 201: UserRecord },
      },
    },
    async ({ principal, body }, reply) => {
      reply.code(201);
      return accounts.create(principal.keyId, body.name);
    },
  );

  app.get(
    '/api/users/:name',
    {
      config: { access, document },
      schema: {
        tags,
        operationId: 'getUser',
        summary: 'Read a user',
        description: 'A removed user is found until their data is deleted.',
        params: UserParams,
        response: { 200: UserRecord },
      },
    },
    async ({ params }) => accounts.get(params.name),
  );

  app.patch(
    '/api/users/:name',
    {
      config: {
        access,
        document: {
          ...document,
          errors: ['user_exists', 'user_inactive', 'last_admin', 'owner_protected'],
          requestExamples: { disable: { disabled: true } },
        },
      },
      schema: {
        tags,
        operationId: 'updateUser',
        summary: 'Rename, disable or enable a user, or set a budget',
        description:
          'A disabled user is kept out within a second in every process: API keys are refused, streams end, and conversations are stopped. Nothing is deleted. A budget applies from the next turn of each conversation on.',
        params: UserParams,
        body: ChangeUser,
        response: { 200: UserRecord },
      },
    },
    async ({ principal, params, body }) => accounts.update(principal.keyId, params.name, body),
  );

  app.delete(
    '/api/users/:name',
    {
      config: { access, document: { ...document, errors: ['last_admin', 'owner_protected'] } },
      schema: {
        tags,
        operationId: 'removeUser',
        summary: 'Remove a user',
        description:
          'The user is kept out like a disabled one, and can be restored until `purge_at`. Then everything that the user owned is deleted.',
        params: UserParams,
        response: { 200: UserRecord },
      },
    },
    async ({ principal, params }) => accounts.remove(principal.keyId, params.name),
  );

  app.post(
    '/api/users/:name/restore',
    {
      config: { access, document },
      schema: {
        tags,
        operationId: 'restoreUser',
        summary: 'Restore a removed user',
        description: 'API keys that were not revoked are valid again. Conversations stay stopped.',
        params: UserParams,
        response: { 200: UserRecord },
      },
    },
    async ({ principal, params }) => accounts.restore(principal.keyId, params.name),
  );
}
