// /api/options/*: the values that clients offer in their forms. Settings take other values too.
import Type from 'typebox';
import { needs, open } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import type { Models } from '../models/catalogue.ts';

const Names = Type.Array(Type.String());

const ClientConfig = Type.Object(
  {
    APP_MODE: Type.String(),
    GITHUB_CLIENT_ID: Type.Null(),
    POSTHOG_CLIENT_KEY: Type.String(),
    FEATURE_FLAGS: Type.Object({}, { additionalProperties: Type.Boolean() }),
  },
  { $id: 'ClientConfig', additionalProperties: false },
);

/** With any that is set, a person is asked only for tools of a kind that can do harm. */
const securityAnalyzers: readonly string[] = ['tool_kind'];

interface Offered {
  readonly agents: readonly string[];
  readonly models: Models;
}

export function optionRoutes(app: Server, { agents, models }: Offered): void {
  const options = [
    {
      path: 'models',
      operationId: 'listModels',
      summary: 'Models that are known by name',
      description: 'Values for `llm_model`. Models that were retired by today are left out.',
      list: () => models.names(new Date().toISOString().slice(0, 10)),
    },
    {
      path: 'agents',
      operationId: 'listAgents',
      summary: 'Agents that settings can name',
      description: 'Values for `agent`: the profiles of this service and their aliases.',
      list: () => agents,
    },
    {
      path: 'security-analyzers',
      operationId: 'listSecurityAnalyzers',
      summary: 'Security analyzers',
      description: 'Values for `security_analyzer`.',
      list: () => securityAnalyzers,
    },
  ];
  for (const { path, list, ...names } of options)
    app.get(
      `/api/options/${path}`,
      {
        config: { access: needs('settings:read', { bearer: true }) },
        schema: { tags: ['Options'], ...names, response: { 200: Names } },
      },
      async () => [...list()],
    );

  app.get(
    '/api/options/config',
    {
      config: { access: open },
      schema: {
        tags: ['Options'],
        operationId: 'getClientConfig',
        summary: 'What existing web clients ask first',
        description: 'Fixed values that tell web clients which features to show. No key is needed.',
        response: { 200: ClientConfig },
      },
    },
    async () => ({ APP_MODE: 'oss', GITHUB_CLIENT_ID: null, POSTHOG_CLIENT_KEY: '', FEATURE_FLAGS: {} }),
  );
}
