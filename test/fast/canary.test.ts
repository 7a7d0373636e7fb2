// Plants secrets wherever one can be sent, and looks for them in every answer, log line and file.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { startService, type TestService } from '../support/service.ts';

const canary = (name: string) => `CANARY-${name}-7f3a9b`;

const mcpWithCanaries = {
  sse_servers: [{ url: 'https://a.example/sse', api_key: canary('sse') }],
  shttp_servers: [{ url: 'https://b.example/mcp', api_key: canary('shttp') }],
  stdio_servers: [
    { name: 'one', command: 'npx', env: { TOKEN: canary('env-map') } },
    { name: 'two', command: 'npx', env: `TOKEN=${canary('env-text')}` },
  ],
};

/** Every place of settings and secrets that takes a value which must not come back. */
async function plantInSettings(service: TestService) {
  const s = '/api/settings';
  const secret = (name: string, value: string) => ({ json: { name, value, description: 'd' } });
  return [
    await service.ask(s, { json: { llm_api_key: canary('llm'), mcp_config: mcpWithCanaries } }),
    await service.ask(s, {
      method: 'PATCH',
      json: { search_api_key: canary('search'), sandbox_api_key: canary('sandbox') },
    }),
    await service.ask(s, {
      method: 'PATCH',
      json: { mcp_config: { sse_servers: [{ url: 'https://a.example/sse', api_key: '**********' }] } },
    }),
    await service.ask(s, { json: { llm_api_key: [canary('llm')], max_iterations: canary('number') } }),
    await service.ask(s, { method: 'PATCH', json: { llm_base_url: `https://u:${canary('url')}@x.example` } }),
    await service.ask(s, { method: 'PATCH', json: {}, headers: { 'if-match': canary('etag') } }),
    await service.ask('/api/secrets', secret('ONE', canary('custom'))),
    await service.ask('/api/secrets', secret('ONE', canary('custom'))),
    await service.ask('/api/secrets', secret('bad name', canary('custom'))),
    await service.ask('/api/secrets/ONE', { method: 'PUT', json: { name: 'TWO' } }),
    await service.ask('/api/secrets'),
    await service.ask('/api/provider-keys/openai', { method: 'PUT', json: { api_key: canary('provider') } }),
    await service.ask('/api/provider-keys/openai', {
      method: 'PUT',
      json: { api_key: `${canary('provider')} x` },
    }),
    await service.ask(`/api/provider-keys/${canary('path')}`, { method: 'PUT', json: { api_key: 'x' } }),
    await service.ask('/api/provider-keys/openai'),
    await service.ask('/api/provider-keys'),
    await service.ask('/api/conversations', { json: { agent: canary('agent'), llm_model: canary('model') } }),
    await service.ask('/api/add-git-providers', {
      json: { provider_tokens: { github: { token: canary('git') } } },
    }),
    await service.ask('/api/add-git-providers', {
      json: { provider_tokens: { gitlab: { token: canary('git'), host: `${canary('host of')} x` } } },
    }),
    await service.ask(s),
    await service.ask('/api/options/models'),
  ];
}

/** Requests that succeed and fail in as many ways as there are places for a secret. */
async function plant(service: TestService): Promise<string[]> {
  const c = '/api/conversations';
  const answers = [
    await service.ask(c, { json: { initial_user_msg: 'x', mcp_config: mcpWithCanaries } }),
    await service.ask(c, { json: { conversation_id: 'same', mcp_config: mcpWithCanaries } }),
    await service.ask(c, { json: { conversation_id: 'same', mcp_config: mcpWithCanaries } }),
    await service.ask(c, { json: { conversation_id: 'same' } }),
    await service.ask(c, { json: {}, headers: { 'idempotency-key': canary('idempotency') } }),
    await service.ask(c, {
      json: { mcp_config: { sse_servers: [{ url: canary('url'), api_key: canary('sse') }] } },
    }),
    await service.ask(c, { json: { git_provider: canary('enum'), conversation_id: `${canary('id')}/` } }),
    await service.ask(c, { raw: `{"a": ${canary('json')}`, headers: { 'content-type': 'application/json' } }),
    await service.ask(c, { raw: canary('form'), headers: { 'content-type': 'text/plain' } }),
    await service.ask(`/api/settings?token=${canary('query')}`),
    await service.ask(`/nowhere/${canary('path')}?x=${canary('query')}`),
    await service.ask('/api/settings', { key: canary('key') }),
    await service.ask('/api/settings', { key: null, bearer: canary('bearer') }),
    await service.ask('/api/keys', { json: { name: 'n', expires_at: canary('expiry') } }),
    await service.ask(`/api/keys/${canary('path')}`, { method: 'DELETE' }),
    ...(await plantInSettings(service)),
    await service.ask('/api/settings'),
    await service.ask('/openapi.json'),
    await service.ask('/docs'),
    await service.ask('/server_info'),
  ];
  return answers.map(({ status, text, headers }) => `${status} ${JSON.stringify([...headers])} ${text}`);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

for (const kind of databaseKinds) {
  describe(`planted secrets on ${kind}`, () => {
    it('are in no answer, log line or file, and the database holds them sealed', async (t) => {
      const env = { SESSION_API_KEY: canary('session-key'), PARLEY_AUTH_TOKEN: canary('auth-token') };
      const service = await startService({ kind, env }, t);
      const made = await service.ask('/api/keys', { json: { name: 'made' } });
      const madeSecret = made.body.key.slice(-43);
      await service.ask('/api/settings', { key: made.body.key });
      const answers = await plant(service);
      for (const answer of answers) {
        assert.ok(!answer.startsWith('5'), answer);
        assert.ok(!answer.includes('CANARY'), answer);
      }
      const logs = service.logs();
      assert.ok(logs.includes('"route":"/api/conversations"'), 'requests are logged');
      assert.ok(!logs.includes('CANARY') && !logs.includes(madeSecret));

      const tables = [
        'users',
        'keys',
        'settings',
        'secrets',
        'conversations',
        'events',
        'idempotency',
        'facts',
        'audit',
        'webhooks',
        'deliveries',
      ];
      for (const table of tables) {
        const rows = JSON.stringify(await inspect(service.storage, `select * from ${table}`));
        assert.ok(!rows.includes('CANARY') && !rows.includes(madeSecret), `${table}: ${rows}`);
      }
      const [stored] = await inspect(
        service.storage,
        "select request, sealed from conversations where id = 'same'",
      );
      assert.match(String(stored?.['sealed']), /^v1\.[0-9a-f]{16}\./);
      assert.equal(String(stored?.['request']).split('**********').length - 1, 4);
      for (const file of filesBelow(service.storage.dataDir)) {
        const bytes = readFileSync(file);
        assert.ok(!bytes.includes('CANARY') && !bytes.includes(madeSecret), file);
      }
    });
  });
}
