// The operator's default settings: for administrators, and which of them apply to the caller.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { AppliedDefaults, ChangeDefaults, DefaultSettings } from './defaultsSchema.ts';
import type { Defaults } from './defaultsService.ts';
import type { Settings } from './service.ts';

const tags = ['Settings'];

export function defaultsRoutes(app: Server, defaults: Defaults, settings: Settings): void {
  app.get(
    '/api/defaults',
    {
      config: { access: needs('admin') },
      schema: {
        tags,
        operationId: 'getDefaults',
        summary: 'Read the default settings',
        description: 'The settings of users who have not set their own. Secret values are never returned.',
        response: { 200: DefaultSettings },
      },
    },
    async () => defaults.get(),
  );

  app.patch(
    '/api/defaults',
    {
      config: {
        access: needs('admin'),
        document: {
          requestExamples: {
            model: { llm_model: 'anthropic/claude-sonnet-4-5', llm_api_key: 'a-model-key' },
          },
          errors: ['sealing_key_missing'],
        },
      },
      schema: {
        tags,
        operationId: 'updateDefaults',
        summary: 'Change the default settings',
        description:
          'A JSON merge patch: null clears a field. Model, base URL and API key belong together: they apply to users without an API key and base URL of their own whose model, if they have chosen one, is of the same provider.',
        body: ChangeDefaults,
        response: { 200: DefaultSettings },
      },
    },
    async ({ principal, body }) => defaults.update(principal.keyId, body),
  );

  app.get(
    '/api/settings/defaults',
    {
      config: {
        access: needs('settings:read'),
        document: { responseExamples: { model: { fields: ['llm_model', 'llm_api_key'] } } },
      },
      schema: {
        tags,
        operationId: 'listAppliedDefaults',
        summary: 'List the settings that are the defaults of the operator',
        description:
          'GET /api/settings shows the values that apply. This lists those that you have not set yourself: with `llm_api_key`, models are paid by the key of the operator.',
        response: { 200: AppliedDefaults },
      },
    },
    async ({ principal }) => ({ fields: [...(await settings.listDefaults(principal.userId))] }),
  );
}
