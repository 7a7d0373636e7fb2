import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const fullDefaults = {
  language: null,
  agent: null,
  max_iterations: null,
  security_analyzer: null,
  confirmation_mode: null,
  llm_model: null,
  llm_api_key: null,
  llm_api_key_set: false,
  llm_base_url: null,
  remote_runtime_resource_factor: null,
  secrets_store: { provider_tokens: {}, custom_secrets: {} },
  enable_default_condenser: true,
  enable_sound_notifications: false,
  enable_proactive_conversation_starters: true,
  enable_solvability_analysis: true,
  user_consents_to_analytics: null,
  sandbox_base_container_image: null,
  sandbox_runtime_container_image: null,
  mcp_config: null,
  search_api_key: null,
  sandbox_api_key: null,
  max_budget_per_task: null,
  email: null,
  email_verified: null,
  git_user_name: null,
  git_user_email: null,
  provider_tokens_set: {},
  search_api_key_set: false,
};

const reducedDefaults = {
  language: null,
  agent: null,
  security_analyzer: null,
  confirmation_mode: null,
  llm_model: null,
  llm_api_key_set: false,
  llm_base_url: null,
  remote_runtime_resource_factor: null,
  enable_default_condenser: true,
  enable_sound_notifications: false,
  user_consents_to_analytics: null,
  provider_tokens_set: {},
};

for (const kind of databaseKinds) {
  describe(`GET /api/settings on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind, env: { PARLEY_AUTH_TOKEN: 'preset-token-1' } });
    });
    after(() => service.stop());

    it('returns all 28 members in order with their defaults for a session key, 200', async () => {
      const { status, text } = await service.ask('/api/settings');
      assert.equal(status, 200);
      assert.equal(text, JSON.stringify(fullDefaults));
    });

    it('returns exactly the twelve reduced members for a bearer token, 200', async () => {
      const { status, text } = await service.ask('/api/settings', { bearer: 'preset-token-1' });
      assert.equal(status, 200);
      assert.equal(text, JSON.stringify(reducedDefaults));
    });

    it('returns the reduced shape for a session key sent as Bearer, 200', async () => {
      const { text } = await service.ask('/api/settings', { bearer: service.key });
      assert.equal(text, JSON.stringify(reducedDefaults));
    });

    it('lets X-Session-API-Key decide when both headers are sent', async () => {
      const good = await service.ask('/api/settings', { key: service.key, bearer: 'rubbish' });
      assert.equal(good.text, JSON.stringify(fullDefaults));
      const bad = await service.ask('/api/settings', { key: 'rubbish', bearer: 'preset-token-1' });
      assert.equal(bad.status, 401);
    });

    it('refuses a bearer token sent as X-Session-API-Key, 401', async () => {
      const { status } = await service.ask('/api/settings', { key: 'preset-token-1' });
      assert.equal(status, 401);
    });

    it('answers 304 without a body to the ETag of the same shape, and 200 to that of the other', async () => {
      const full = await service.ask('/api/settings');
      const etag = full.headers.get('etag') ?? '';
      assert.equal(full.headers.get('cache-control'), 'private, no-cache');
      assert.match(full.headers.get('vary') ?? '', /X-Session-API-Key, Authorization/);
      for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
        const again = await service.ask('/api/settings', { headers: { 'if-none-match': header } });
        assert.deepEqual([again.status, again.text], [304, ''], header);
        assert.equal(again.headers.get('etag'), etag);
      }
      const other = await service.ask('/api/settings', {
        bearer: 'preset-token-1',
        headers: { 'if-none-match': etag },
      });
      assert.equal(other.status, 200);
      assert.notEqual(other.headers.get('etag'), etag);
    });

    it('shows stored values, flags of secrets and names of tokens, and never a sealed text', async () => {
      const document = JSON.stringify({
        language: 'de',
        llm_model: 'openai/x',
        enable_default_condenser: false,
      });
      await inspect(
        service.storage,
        `insert into settings (user_id, version, document, updated_at) values (1, 4, '${document}', 0)`,
      );
      await inspect(
        service.storage,
        `insert into secrets (user_id, kind, name, sealed, host, description) values
         (1, 'llm_api_key', '', 'SEALED', null, null), (1, 'search_api_key', '', 'SEALED', null, null),
         (1, 'provider_token', 'github', 'SEALED', null, null),
         (1, 'provider_token', 'gitlab', 'SEALED', 'git.example.com', null),
         (1, 'custom', 'DEPLOY', 'SEALED', null, 'for deploys')`,
      );
      const expected = {
        ...fullDefaults,
        language: 'de',
        llm_model: 'openai/x',
        enable_default_condenser: false,
        llm_api_key_set: true,
        search_api_key_set: true,
        provider_tokens_set: { github: null, gitlab: 'git.example.com' },
        secrets_store: {
          provider_tokens: { github: { host: null }, gitlab: { host: 'git.example.com' } },
          custom_secrets: { DEPLOY: { description: 'for deploys' } },
        },
      };
      // Another process wrote: the cache may be a second old.
      const text = await until('the service has noticed', async () => {
        const answer = await service.ask('/api/settings');
        return answer.text.includes('"de"') && answer.text;
      });
      assert.equal(text, JSON.stringify(expected));
    });
  });
}
