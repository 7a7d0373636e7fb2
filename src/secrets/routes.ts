// /api/secrets, and access tokens for git providers.
import Type from 'typebox';
import { needs } from '../http/access.ts';
import { Message } from '../http/message.ts';
import type { Server } from '../http/routeTable.ts';
import { AddGitProviders, NewSecret, SecretList, SecretUpdate } from './schema.ts';
import type { Secrets } from './service.ts';

const NameInPath = Type.Object({ name: Type.String() });
const ProviderInPath = Type.Object({ provider: Type.String() });
const access = needs('settings:write');
const tags = ['Secrets'];

export function secretRoutes(app: Server, secrets: Secrets): void {
  app.get(
    '/api/secrets',
    {
      config: { access: needs('settings:read') },
      schema: {
        tags,
        operationId: 'listSecrets',
        summary: 'List custom secrets',
        description: 'Returns names and descriptions. Values are never returned.',
        response: { 200: SecretList },
      },
    },
    (request) => secrets.list(request.principal.userId),
  );

  app.post(
    '/api/secrets',
    {
      config: { access, document: { errors: ['secret_exists', 'limit_reached', 'sealing_key_missing'] } },
      schema: {
        tags,
        operationId: 'createSecret',
        summary: 'Create a secret',
        description:
          'Agents get it as an environment variable of this name. Returns 400 if the name is already in use.',
        body: NewSecret,
        response: { 201: Message },
      },
    },
    async (request, reply) => {
      await secrets.create(request.principal, request.body);
      reply.code(201);
      return { message: 'Secret stored' };
    },
  );

  app.put(
    '/api/secrets/:name',
    {
      config: { access, document: { errors: ['secret_exists', 'sealing_key_missing'] } },
      schema: {
        tags,
        operationId: 'updateSecret',
        summary: 'Update a secret',
        description: 'Changes the name, the description or the value. Absent fields stay as they are.',
        params: NameInPath,
        body: SecretUpdate,
        response: { 200: Message },
      },
    },
    async (request) => {
      await secrets.update(request.principal, request.params.name, request.body);
      return { message: 'Secret updated' };
    },
  );

  app.delete(
    '/api/secrets/:name',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'deleteSecret',
        summary: 'Delete a secret',
        description: 'Runs that have started keep the value that they were given.',
        params: NameInPath,
        response: { 200: Message },
      },
    },
    async (request) => {
      await secrets.remove(request.principal, request.params.name);
      return { message: 'Secret deleted' };
    },
  );

  app.post(
    '/api/add-git-providers',
    {
      config: {
        access,
        document: {
          errors: ['sealing_key_missing'],
          requestExamples: {
            gitlab: { provider_tokens: { gitlab: { token: 'a-token', host: 'git.example.com' } } },
          },
        },
      },
      schema: {
        tags,
        operationId: 'addGitProviders',
        summary: 'Store access tokens of Git providers',
        description: 'An empty token keeps the stored token and changes the host.',
        body: AddGitProviders,
        response: { 200: Message },
      },
    },
    async (request) => {
      await secrets.addGitProviders(request.principal, request.body);
      return { message: 'Git providers stored' };
    },
  );

  app.delete(
    '/api/git-providers/:provider',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'deleteGitProvider',
        summary: 'Delete the access token of a Git provider',
        description: 'Returns 404 if no token of this provider is stored.',
        params: ProviderInPath,
        response: { 200: Message },
      },
    },
    async (request) => {
      await secrets.removeGitProvider(request.principal, request.params.provider);
      return { message: 'Git provider token removed' };
    },
  );

  app.post(
    '/api/unset-provider-tokens',
    {
      config: { access },
      schema: {
        tags,
        operationId: 'unsetProviderTokens',
        summary: 'Delete all access tokens of Git providers',
        description: 'Succeeds even if none is stored.',
        response: { 200: Message },
      },
    },
    async (request) => {
      await secrets.unsetProviderTokens(request.principal);
      return { message: 'Git provider tokens removed' };
    },
  );
}
