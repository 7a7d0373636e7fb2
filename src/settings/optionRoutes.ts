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
  function names(path: string, operationId: string, summary: string, list: () => readonly string[]): void {
    app.get(
      path,
      {
        config: { access: needs('settings:read', { bearer: true }) },
        schema: { tags: ['Options'], operationId, summary, response: { 200: Names } },
      },
      async () => [...list()],
    );
  }

  names('/api/options/models', 'listModels', 'Models that are known by name', () =>
    models.names(new Date().toISOString().slice(0, 10)),
  );
  names('/api/options/agents', 'listAgents', 'Agents that settings can name', () => agents);
  names(
    '/api/options/security-analyzers',
    'listSecurityAnalyzers',
    'Security analyzers',
    () => securityAnalyzers,
  );

  app.get(
    '/api/options/config',
    {
      config: { access: open },
      schema: {
        tags: ['Options'],
        operationId: 'getClientConfig',
        summary: 'What existing web clients ask first',
        response: { 200: ClientConfig },
      },
    },
    async () => ({ APP_MODE: 'oss', GITHUB_CLIENT_ID: null, POSTHOG_CLIENT_KEY: '', FEATURE_FLAGS: {} }),
  );
}
