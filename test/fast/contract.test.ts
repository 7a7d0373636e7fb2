// The contract field by field, as a generator of sample requests sends it: every value whose type is right is accepted,
// and every response has exactly the fields and types of the specification. Written out by hand, so that it can
// disagree.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { startService, type TestService } from '../support/service.ts';

type Json = Record<string, unknown>;

/** A string, as generators write one. */
const sample = '<string>';

/** Each field with its types, in the order of the response. */
const settingsFields: Readonly<Record<string, readonly string[]>> = {
  language: ['string', 'null'],
  agent: ['string', 'null'],
  max_iterations: ['number', 'null'],
  security_analyzer: ['string', 'null'],
  confirmation_mode: ['boolean', 'null'],
  llm_model: ['string', 'null'],
  llm_api_key: ['null'],
  llm_api_key_set: ['boolean'],
  llm_base_url: ['string', 'null'],
  remote_runtime_resource_factor: ['number', 'null'],
  secrets_store: ['object'],
  enable_default_condenser: ['boolean'],
  enable_sound_notifications: ['boolean'],
  enable_proactive_conversation_starters: ['boolean'],
  enable_solvability_analysis: ['boolean'],
  user_consents_to_analytics: ['boolean', 'null'],
  sandbox_base_container_image: ['string', 'null'],
  sandbox_runtime_container_image: ['string', 'null'],
  mcp_config: ['object', 'null'],
  search_api_key: ['null'],
  sandbox_api_key: ['null'],
  max_budget_per_task: ['number', 'null'],
  email: ['string', 'null'],
  email_verified: ['boolean', 'null'],
  git_user_name: ['string', 'null'],
  git_user_email: ['string', 'null'],
  provider_tokens_set: ['object'],
  search_api_key_set: ['boolean'],
};

const reducedFields = [
  'language',
  'agent',
  'security_analyzer',
  'confirmation_mode',
  'llm_model',
  'llm_api_key_set',
  'llm_base_url',
  'remote_runtime_resource_factor',
  'enable_default_condenser',
  'enable_sound_notifications',
  'user_consents_to_analytics',
  'provider_tokens_set',
];

/** What a POST of settings may hold, each with values of its type. */
const settingsSamples: Readonly<Record<string, readonly unknown[]>> = {
  language: [sample, '', null],
  agent: ['CodeActAgent', 'builtin', '', null],
  max_iterations: [1, 100_000, null],
  security_analyzer: [sample, '', null],
  confirmation_mode: [true, false, null],
  llm_model: [sample, '', null],
  llm_api_key: [sample, '', null],
  llm_api_key_set: [true, false],
  llm_base_url: ['https://models.example.com/v1', '', null],
  remote_runtime_resource_factor: [1, 16, null],
  secrets_store: [{ provider_tokens: {}, custom_secrets: {} }, {}, null],
  enable_default_condenser: [true, false],
  enable_sound_notifications: [true, false],
  enable_proactive_conversation_starters: [true, false],
  enable_solvability_analysis: [true, false],
  user_consents_to_analytics: [true, false, null],
  sandbox_base_container_image: [sample, '', null],
  sandbox_runtime_container_image: [sample, '', null],
  mcp_config: [{ sse_servers: [], stdio_servers: [], shttp_servers: [] }, {}, null],
  search_api_key: [sample, '', null],
  sandbox_api_key: [sample, '', null],
  max_budget_per_task: [0, 1.5, null],
  email: [sample, '', null],
  email_verified: [true, false, null],
  git_user_name: [sample, '', null],
  git_user_email: [sample, '', null],
  provider_tokens_set: [{}, { github: null }, null],
  search_api_key_set: [true, false],
};

const providers = ['github', 'gitlab', 'bitbucket', 'enterprise_sso'];
const task = {
  git_provider: 'github',
  task_type: 'MERGE_CONFLICTS',
  repo: sample,
  issue_number: 0,
  title: sample,
};
const url = 'https://tools.example.com/mcp';

const mcpSamples: readonly (Json | null)[] = [
  null,
  {},
  { sse_servers: [], stdio_servers: [], shttp_servers: [] },
  { sse_servers: [{ url, api_key: sample }] },
  { shttp_servers: [{ url, api_key: sample }] },
  { stdio_servers: [{ name: 'name', command: 'command', args: [sample], env: {} }] },
  { stdio_servers: [{ name: 'name', command: 'command', args: [], env: { NAME: sample } }] },
];

/** What a creation may hold, each with values of its type. */
const creationSamples: Readonly<Record<string, readonly unknown[]>> = {
  repository: [sample, '', null],
  git_provider: [...providers, null],
  selected_branch: [sample, '', null],
  initial_user_msg: [sample, '', null],
  image_urls: [[sample, sample], [''], [], null],
  replay_json: ['', '[]', '{}', null],
  suggested_task: [...providers.map((git_provider) => ({ ...task, git_provider })), null],
  create_microagent: [
    ...providers.map((git_provider) => ({ repo: sample, git_provider, title: sample })),
    { repo: sample },
    null,
  ],
  conversation_instructions: [sample, '', null],
  mcp_config: mcpSamples,
  conversation_id: [sample, 'string', '0'],
  agent: ['CodeActAgent', 'builtin', '', null],
  llm_model: ['ollama/a-model', '', null],
};

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
}

function isCreated(body: Json, id?: string): void {
  assert.deepEqual(Object.keys(body), ['status', 'conversation_id', 'message', 'conversation_status']);
  assert.equal(body['status'], 'ok');
  if (id === undefined) assert.match(String(body['conversation_id']), /^[0-9a-f]{32}$/);
  else assert.equal(body['conversation_id'], id);
  assert.ok(['string', 'null'].includes(kindOf(body['message'])));
  assert.equal(body['conversation_status'], 'STARTING');
}

for (const kind of databaseKinds) {
  describe(`the contract on ${kind}`, () => {
    let service: TestService;
    let users = 0;
    before(async () => {
      service = await startService({ kind, env: { PARLEY_AUTH_TOKEN: 'preset-token-1' } });
    });
    after(() => service.stop());

    async function newKey(): Promise<string> {
      const { body } = await service.ask('/api/keys', { json: { name: 'k', user: `user-${users++}` } });
      return String(body.key);
    }

    async function readSettings(key: string): Promise<Json> {
      const { status, body } = await service.ask('/api/settings', { key });
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(body), Object.keys(settingsFields));
      for (const [name, types] of Object.entries(settingsFields))
        assert.ok(types.includes(kindOf(body[name])), `${name} is ${kindOf(body[name])}`);
      assert.deepEqual(Object.keys(body.secrets_store), ['provider_tokens', 'custom_secrets']);
      return body;
    }

    it('returns the reduced settings to a bearer token, 200', async () => {
      const { status, body } = await service.ask('/api/settings', { bearer: 'preset-token-1' });
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(body), reducedFields);
      for (const name of reducedFields) assert.ok(settingsFields[name]?.includes(kindOf(body[name])), name);
    });

    it('accepts every value of every settings field, and returns the whole record after each, 200', async () => {
      const key = await newKey();
      for (const [name, values] of Object.entries(settingsSamples))
        for (const value of values) {
          const { status, text } = await service.ask('/api/settings', { json: { [name]: value }, key });
          assert.equal(status, 200, `${name}: ${JSON.stringify(value)} ${text}`);
          await readSettings(key);
        }
    });

    it('returns every field of every MCP server, and never its secrets', async () => {
      const key = await newKey();
      for (const mcp_config of mcpSamples) {
        await service.ask('/api/settings', { json: { mcp_config }, key });
        const shown = (await readSettings(key))['mcp_config'] as Record<string, Json[]> | null;
        if (mcp_config === null) continue;
        assert.deepEqual(Object.keys(shown ?? {}), ['sse_servers', 'stdio_servers', 'shttp_servers']);
        for (const server of [...(shown?.['sse_servers'] ?? []), ...(shown?.['shttp_servers'] ?? [])])
          assert.deepEqual(server, { url, api_key: '**********' });
        for (const server of shown?.['stdio_servers'] ?? []) {
          assert.deepEqual(Object.keys(server), ['name', 'command', 'args', 'env']);
          assert.deepEqual([kindOf(server['args']), kindOf(server['env'])], ['list', 'object']);
          assert.ok(!JSON.stringify(server['env']).includes(sample));
        }
      }
    });

    it('accepts every value of every field of a creation, 200', async () => {
      for (const [name, values] of Object.entries(creationSamples))
        for (const value of values) {
          const json = { [name]: value };
          const { status, body, text } = await service.ask('/api/conversations', { json });
          assert.equal(status, 200, `${name}: ${JSON.stringify(value)} ${text}`);
          isCreated(body, name === 'conversation_id' ? String(value) : undefined);
        }
    });

    it('accepts all fields together, and all of them as null, 200', async () => {
      const all = Object.fromEntries(Object.entries(creationSamples).map(([name, [first]]) => [name, first]));
      const key = await newKey();
      const full = await service.ask('/api/conversations', { json: all, key });
      assert.equal(full.status, 200, full.text);
      isCreated(full.body, sample);
      const nulls = Object.fromEntries(Object.keys(all).map((name) => [name, null]));
      const { conversation_id: _, ...nullable } = nulls;
      isCreated((await service.ask('/api/conversations', { json: nullable, key })).body);
      const { status } = await service.ask('/api/conversations', { json: nulls, key });
      assert.equal(status, 422, 'conversation_id is the one that cannot be null');
    });

    it('accepts a settings record that was read, as a whole, 200', async () => {
      const key = await newKey();
      const first = Object.entries(settingsSamples).map(([name, [value]]) => [name, value]);
      const sent = { ...Object.fromEntries(first), mcp_config: mcpSamples[3] };
      assert.equal((await service.ask('/api/settings', { json: sent, key })).status, 200);
      const record = await readSettings(key);
      assert.equal((await service.ask('/api/settings', { json: record, key })).status, 200);
      assert.deepEqual(await readSettings(key), record);
    });
  });
}
