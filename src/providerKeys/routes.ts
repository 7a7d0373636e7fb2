// /api/provider-keys: the API keys of model providers.
import Type from 'typebox';
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { NewProviderKey, ProviderKey, ProviderKeyList } from './schema.ts';
import type { ProviderKeys } from './service.ts';

const ProviderInPath = Type.Object({ provider: Type.String() });
const access = needs('settings:write');
const tags = ['Settings'];
const stored: ProviderKey = { provider: 'openai', is_set: true, is_required: true };

export function providerKeyRoutes(app: Server, providerKeys: ProviderKeys): void {
  app.get(
    '/api/provider-keys',
    {
      config: {
        access: needs('settings:read'),
        document: { responseExamples: { list: { provider_keys: [stored] } } },
      },
      schema: {
        tags,
        operationId: 'listProviderKeys',
        summary: 'List the API keys of model providers',
        description: 'Returns every provider and whether a key is stored. Values are never returned.',
        response: { 200: ProviderKeyList },
      },
    },
    ({ principal }) => providerKeys.list(principal.userId),
  );

  app.get(
    '/api/provider-keys/:provider',
    {
      config: { access: needs('settings:read'), document: { responseExamples: { stored } } },
      schema: {
        tags,
        operationId: 'getProviderKey',
        summary: 'Read whether a provider has an API key',
        description: 'The value is never returned. Returns 404 for an unknown provider.',
        params: ProviderInPath,
        response: { 200: ProviderKey },
      },
    },
    ({ principal, params }) => providerKeys.get(principal.userId, params.provider),
  );

  app.put(
    '/api/provider-keys/:provider',
    {
      config: {
        access,
        document: {
          errors: ['sealing_key_missing'],
          requestExamples: { key: { api_key: 'a-model-key' } },
          responseExamples: { stored },
        },
      },
      schema: {
        tags,
        operationId: 'setProviderKey',
        summary: 'Store the API key of a model provider',
        description:
          'Replaces a stored key. Conversations with a model of this provider use it from their next turn on. For the model in your settings, `llm_api_key` and `llm_base_url` take precedence. Returns 404 for an unknown provider.',
        params: ProviderInPath,
        body: NewProviderKey,
        response: { 200: ProviderKey },
      },
    },
    ({ principal, params, body }) => providerKeys.set(principal, params.provider, body.api_key),
  );

  app.delete(
    '/api/provider-keys/:provider',
    {
      config: { access, document: { responseExamples: { removed: { ...stored, is_set: false } } } },
      schema: {
        tags,
        operationId: 'deleteProviderKey',
        summary: 'Delete the API key of a model provider',
        description:
          'A turn that is in progress keeps the key. Returns 404 if no key of this provider is stored.',
        params: ProviderInPath,
        response: { 200: ProviderKey },
      },
    },
    ({ principal, params }) => providerKeys.remove(principal, params.provider),
  );
}
