// /api/options/*: the values that clients offer in their forms. Settings accept other values as well.
import Type from 'typebox';
import { needs, open } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import type { Models } from '../models/catalogue.ts';
import { aliasPrefix } from '../models/names.ts';

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

/** With any value, approval is needed only for kinds of tools that can do harm. */
const securityAnalyzers: readonly string[] = ['tool_kind'];

/** Existing web clients offer only models with this prefix at first, and preselect the first of these. */
const preselected = `${aliasPrefix}claude-sonnet-4-20250514`;
const aliased = 'anthropic/';

interface Offered {
  /** Whether to add names for existing clients. */
  readonly withAliases: boolean;
  readonly agents: readonly string[];
  readonly models: Models;
}

export function optionRoutes(app: Server, { agents, models, withAliases }: Offered): void {
  function listModels(): readonly string[] {
    const names = models.names(new Date().toISOString().slice(0, 10));
    if (!withAliases) return names;
    const own = names.filter((name) => name.startsWith(aliased));
    const aliases = own.map((name) => aliasPrefix + name.slice(aliased.length));
    return [...new Set([...names, preselected, ...aliases])];
  }

  const options = [
    {
      path: 'models',
      operationId: 'listModels',
      summary: 'List known models',
      description:
        'Values for `llm_model`. Retired models are not included. Names that begin with `openhands/` are for existing clients: `openhands/claude-…` means `anthropic/claude-…`.',
      list: listModels,
    },
    {
      path: 'agents',
      operationId: 'listAgents',
      summary: 'List agents',
      description: 'Values for `agent`: the agents of this server and their aliases.',
      list: () => agents,
    },
    {
      path: 'security-analyzers',
      operationId: 'listSecurityAnalyzers',
      summary: 'List security analyzers',
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
        summary: 'Read the configuration for web clients',
        description:
          'Returns fixed values that tell existing web clients which features to show. No API key is required.',
        response: { 200: ClientConfig },
      },
    },
    async () => ({ APP_MODE: 'oss', GITHUB_CLIENT_ID: null, POSTHOG_CLIENT_KEY: '', FEATURE_FLAGS: {} }),
  );
}
