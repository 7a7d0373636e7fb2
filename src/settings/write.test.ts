// POST and PATCH /api/settings.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../test/support/service.ts';

const mask = '**********';
const path = '/api/settings';

for (const kind of databaseKinds) {
  describe(`writing settings on ${kind}`, () => {
    let service: TestService;
    let users = 0;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    /** A user of its own for each test. */
    async function newUser() {
      const { body } = await service.ask('/api/keys', { json: { name: 'k', user: `user-${users++}` } });
      const ask = (method: string, json: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
        service.ask(path, { method, json, key: body.key, headers });
      return {
        post: (json: unknown, headers?: Record<string, string>) => ask('POST', json, headers),
        patch: (json: unknown, headers?: Record<string, string>) => ask('PATCH', json, headers),
        get: async () => (await service.ask(path, { key: body.key })).body,
        read: () => service.ask(path, { key: body.key }),
        ask: (to: string, json: unknown) => service.ask(to, { json, key: body.key }),
      };
    }

    it('merges a POST and shows it to the very next GET, 200', async () => {
      const user = await newUser();
      const stored = await user.post({ language: 'de', llm_model: 'openai/x', max_iterations: 7 });
      assert.deepEqual([stored.status, stored.body], [200, { message: 'Settings stored' }]);
      await user.post({ language: 'fr' });
      const { language, llm_model, max_iterations } = await user.get();
      assert.deepEqual([language, llm_model, max_iterations], ['fr', 'openai/x', 7]);
    });

    it('takes null and empty in a POST as existing clients mean them', async () => {
      const user = await newUser();
      const all = {
        language: 'de',
        agent: 'claude',
        llm_model: 'm',
        llm_base_url: 'https://llm.example/v1',
        user_consents_to_analytics: true,
        llm_api_key: 'k1',
        search_api_key: 'k2',
        sandbox_api_key: 'k3',
        max_iterations: 5,
      };
      await user.post(all);
      await user.post(Object.fromEntries(Object.keys(all).map((name) => [name, null])));
      const kept = await user.get();
      assert.deepEqual(
        [kept.llm_model, kept.llm_base_url, kept.user_consents_to_analytics],
        ['m', all.llm_base_url, true],
      );
      assert.deepEqual([kept.llm_api_key_set, kept.search_api_key_set], [true, true]);
      assert.deepEqual([kept.language, kept.agent, kept.max_iterations], [null, null, null]);
      await user.post({
        llm_api_key: '',
        search_api_key: mask,
        sandbox_api_key: '',
        llm_model: '',
        llm_base_url: '',
      });
      const cleared = await user.get();
      assert.deepEqual([cleared.llm_api_key_set, cleared.search_api_key_set], [true, true]);
      assert.deepEqual([cleared.llm_model, cleared.llm_base_url], [null, null]);
      const rows = await inspect(service.storage, "select kind from secrets where kind = 'sandbox_api_key'");
      assert.equal(rows.length, 1);
    });

    it('takes back the whole record that GET gave, with derived and unknown members, and changes nothing', async () => {
      const user = await newUser();
      await user.post({
        language: 'ja',
        llm_api_key: 'k',
        mcp_config: { sse_servers: [{ url: 'https://a.example', api_key: 'key-a' }], stdio_servers: [] },
      });
      const before = await user.get();
      const { status } = await user.post({ ...before, search_api_key: '', some_new_member: { x: 1 } });
      assert.equal(status, 200);
      assert.deepEqual(await user.get(), before);
    });

    it('shows every field of an MCP server, whether it was sent, and takes that back unchanged', async () => {
      const user = await newUser();
      await user.post({
        mcp_config: {
          sse_servers: ['https://a.example'],
          stdio_servers: [
            { name: 'bare', command: 'c' },
            { name: 'null', command: 'c', args: null, env: null },
            { name: 'empty', command: 'c', args: '', env: '' },
            { name: 'full', command: 'c', args: '-y x', env: 'A=1' },
          ],
          shttp_servers: [
            { url: 'https://b.example', api_key: '' },
            { url: 'https://c.example', timeout: 5 },
          ],
        },
      });
      const { mcp_config: shown } = await user.get();
      assert.deepEqual(shown, {
        sse_servers: [{ url: 'https://a.example', api_key: null }],
        stdio_servers: [
          ...['bare', 'null', 'empty'].map((name) => ({ name, command: 'c', args: [], env: {} })),
          { name: 'full', command: 'c', args: ['-y', 'x'], env: { A: mask } },
        ],
        shttp_servers: [
          { url: 'https://b.example', api_key: null },
          { url: 'https://c.example', api_key: null, timeout: 5 },
        ],
      });
      assert.equal((await user.post({ mcp_config: shown })).status, 200);
      assert.deepEqual((await user.get()).mcp_config, shown);
      await user.post({ mcp_config: {} });
      const empty = { sse_servers: [], stdio_servers: [], shttp_servers: [] };
      assert.deepEqual((await user.get()).mcp_config, empty);
    });

    it('refuses a secrets_store with values by POST, 422, says where they belong, and stores nothing', async () => {
      const user = await newUser();
      const withValues: readonly [object, string, RegExp][] = [
        [{ provider_tokens: { github: { token: 't0p' } } }, '.provider_tokens', /add-git-providers/],
        [{ provider_tokens: { github: 't0p', gitlab: { host: null } } }, '.provider_tokens', /git-providers/],
        [{ custom_secrets: { A: { secret: 't0p', description: 'd' } } }, '.custom_secrets', /api\/secrets/],
        [{ custom_secrets: { A: { value: ['t0p'] } } }, '.custom_secrets', /api\/secrets/],
        [{ custom_secrets: ['t0p'] }, '.custom_secrets', /must be an object/],
        [['t0p'], '', /must be an object/],
      ];
      for (const [secrets_store, place, message] of withValues) {
        const { status, body, text } = await user.post({ agent: 'must not be stored', secrets_store });
        assert.deepEqual([status, body.details[0].path], [422, `secrets_store${place}`]);
        assert.match(body.error, message);
        assert.ok(!text.includes('t0p'));
      }
      assert.equal((await user.get()).agent, null);
    });

    it('accepts a secrets_store without values by POST, as clients send it back, 200', async () => {
      const user = await newUser();
      await user.ask('/api/secrets', { name: 'A', value: 'v', description: 'what it is for' });
      await user.ask('/api/add-git-providers', {
        provider_tokens: { github: { token: 't', host: 'git.example.com' } },
      });
      const before = await user.get();
      assert.deepEqual(before.secrets_store, {
        provider_tokens: { github: { host: 'git.example.com' } },
        custom_secrets: { A: { description: 'what it is for' } },
      });
      const empties = [
        before.secrets_store,
        { provider_tokens: {}, custom_secrets: {} },
        { provider_tokens: { github: { token: null, host: 'x', user_id: 'u' } } },
        { provider_tokens: { github: { token: '' }, gitlab: null }, custom_secrets: { A: { secret: mask } } },
        { provider_tokens: null },
        {},
        null,
      ];
      for (const secrets_store of empties)
        assert.equal((await user.post({ ...before, secrets_store })).status, 200);
      assert.deepEqual(await user.get(), before);
    });

    it('clears by null in a PATCH, puts booleans back to their defaults, and answers the record, 200', async () => {
      const user = await newUser();
      await user.post({
        llm_model: 'm',
        llm_api_key: 'k',
        enable_default_condenser: false,
        confirmation_mode: true,
      });
      const patched = await user.patch({
        llm_model: null,
        llm_api_key: null,
        enable_default_condenser: null,
        confirmation_mode: null,
      });
      assert.equal(patched.status, 200);
      assert.deepEqual(patched.body, await user.get());
      const { llm_model, llm_api_key_set, enable_default_condenser, confirmation_mode } = patched.body;
      assert.deepEqual(
        [llm_model, llm_api_key_set, enable_default_condenser, confirmation_mode],
        [null, false, true, null],
      );
    });

    it('takes application/merge-patch+json', async () => {
      const user = await newUser();
      const { status, body } = await user.patch(
        { language: 'it' },
        { 'content-type': 'application/merge-patch+json' },
      );
      assert.deepEqual([status, body.language], [200, 'it']);
    });

    it('finds masked MCP secrets again by URL and name, in any order', async () => {
      const user = await newUser();
      await user.post({
        mcp_config: {
          sse_servers: [{ url: 'https://a.example', api_key: 'key-a' }, 'https://b.example'],
          stdio_servers: [
            { name: 'one', command: 'c', env: { A: 'env-a', B: 'env-b' } },
            { name: 'two', command: 'c', env: { A: 'env-2' } },
          ],
        },
      });
      const { mcp_config } = await user.get();
      assert.deepEqual(mcp_config, {
        sse_servers: [
          { url: 'https://a.example', api_key: mask },
          { url: 'https://b.example', api_key: null },
        ],
        stdio_servers: [
          { name: 'one', command: 'c', args: [], env: { A: mask, B: mask } },
          { name: 'two', command: 'c', args: [], env: { A: mask } },
        ],
        shttp_servers: [],
      });
      const reordered = {
        sse_servers: mcp_config.sse_servers.toReversed(),
        stdio_servers: mcp_config.stdio_servers.toReversed(),
        shttp_servers: [],
      };
      assert.equal((await user.post({ mcp_config: reordered })).status, 200);
      assert.deepEqual((await user.get()).mcp_config, reordered);
    });

    it('tells servers of the same URL apart by their order, and refuses a mask that could mean either', async () => {
      const user = await newUser();
      const url = 'https://a.example';
      await user.post({ mcp_config: { sse_servers: [{ url, api_key: 'k1' }, url, { url, api_key: 'k2' }] } });
      const all = await user.post({
        mcp_config: {
          sse_servers: [
            { url, api_key: mask },
            { url, api_key: mask },
          ],
        },
      });
      assert.equal(all.status, 200);
      const one = await user.post({ mcp_config: { sse_servers: [{ url, api_key: mask }] } });
      assert.deepEqual([one.status, one.body.details[0].path], [422, 'mcp_config.sse_servers[0].api_key']);
    });

    it('keeps the bound of 50 servers over several patches, 422', async () => {
      const user = await newUser();
      const many = Array.from({ length: 30 }, (_, i) => `https://h${i}.example`);
      assert.equal((await user.patch({ mcp_config: { sse_servers: many } })).status, 200);
      const over = await user.patch({ mcp_config: { shttp_servers: many } });
      assert.deepEqual([over.status, over.body.details[0].path], [422, 'mcp_config']);
    });

    it('does not move the version by a write that changes nothing', async () => {
      const user = await newUser();
      await user.post({ language: 'de' });
      const etag = (await user.read()).headers.get('etag');
      await user.post({ language: 'de' });
      await user.patch({});
      assert.equal((await user.read()).headers.get('etag'), etag);
    });

    it('refuses a mask that matches nothing, 422, and names it', async () => {
      const user = await newUser();
      const remote = await user.post({
        mcp_config: { shttp_servers: [{ url: 'https://a.example', api_key: mask }] },
      });
      assert.deepEqual(
        [remote.status, remote.body.details[0].path],
        [422, 'mcp_config.shttp_servers[0].api_key'],
      );
      const env = await user.post({
        mcp_config: { stdio_servers: [{ name: 'x', command: 'c', env: { A: mask } }] },
      });
      assert.deepEqual([env.status, env.body.details[0].path], [422, 'mcp_config.stdio_servers[0].env.A']);
      assert.equal((await user.get()).mcp_config, null);
    });

    it('replaces mcp_config whole by POST, list by list by PATCH, and clears it by null', async () => {
      const user = await newUser();
      const both = { sse_servers: ['https://a.example'], shttp_servers: ['https://b.example'] };
      await user.post({ mcp_config: both });
      const patched = await user.patch({ mcp_config: { sse_servers: null } });
      assert.deepEqual(patched.body.mcp_config, {
        sse_servers: [],
        stdio_servers: [],
        shttp_servers: [{ url: 'https://b.example', api_key: null }],
      });
      await user.post({ mcp_config: { sse_servers: ['https://c.example'] } });
      assert.deepEqual((await user.get()).mcp_config.shttp_servers, []);
      await user.post({ mcp_config: null });
      assert.equal((await user.get()).mcp_config, null);
    });

    it('answers 412 to an If-Match that is no longer true, and stores nothing', async () => {
      const user = await newUser();
      const etag = (await user.read()).headers.get('etag') ?? '';
      assert.equal((await user.patch({ language: 'de' }, { 'if-match': etag })).status, 200);
      const lost = await user.patch({ language: 'fr', agent: 'claude' }, { 'if-match': etag });
      assert.deepEqual([lost.status, lost.body.code], [412, 'precondition_failed']);
      assert.equal((await user.post({ language: 'fr' }, { 'if-match': '"rubbish"' })).status, 412);
      assert.equal((await user.post({ agent: 'codex' }, { 'if-match': '*' })).status, 200);
      const { language, agent } = await user.get();
      assert.deepEqual([language, agent], ['de', 'codex']);
    });

    it('never loses a field of two writers at once', async () => {
      const user = await newUser();
      const members = [
        'language',
        'security_analyzer',
        'sandbox_runtime_container_image',
        'llm_model',
        'email',
        'git_user_name',
        'git_user_email',
      ];
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(members.map((name) => user.patch({ [name]: `${name}-${round}` })));
        assert.ok(answers.every(({ status }) => status === 200));
        const record = await user.get();
        assert.deepEqual(
          members.map((name) => record[name]),
          members.map((name) => `${name}-${round}`),
        );
      }
    });

    it('lets exactly one of many writers with the same If-Match through', async () => {
      const user = await newUser();
      const etag = (await user.read()).headers.get('etag') ?? '';
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => user.patch({ language: `l${i}` }, { 'if-match': etag })),
      );
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1);
      assert.equal((await user.get()).language, won[0]?.body.language);
    });

    const bad: readonly [string, Record<string, unknown>, string][] = [
      [
        'an MCP server without a host',
        { mcp_config: { sse_servers: ['https://'] } },
        'mcp_config.sse_servers[0]',
      ],
      [
        'an open quote in args',
        { mcp_config: { stdio_servers: [{ name: 'a', command: 'a', args: '"x' }] } },
        'mcp_config.stdio_servers[0].args',
      ],
      ['a base URL without a host', { llm_base_url: 'http://' }, 'llm_base_url'],
      ['a base URL of another kind', { llm_base_url: 'ftp://x.example' }, 'llm_base_url'],
      ['a model name of 5 KiB', { llm_model: 'x'.repeat(5_120) }, 'llm_model'],
      ['max_iterations 0', { max_iterations: 0 }, 'max_iterations'],
      ['max_iterations 100001', { max_iterations: 100_001 }, 'max_iterations'],
      ['max_budget_per_task -1', { max_budget_per_task: -1 }, 'max_budget_per_task'],
      ['a resource factor of 17', { remote_runtime_resource_factor: 17 }, 'remote_runtime_resource_factor'],
      ['a number as language', { language: 5 }, 'language'],
      ['NUL in a name', { git_user_name: `a${String.fromCharCode(0)}` }, 'git_user_name'],
      ['a list as key', { llm_api_key: ['x'] }, 'llm_api_key'],
    ];
    for (const [name, change, place] of bad) {
      it(`refuses ${name}, 422, by POST and PATCH, and stores nothing beside it`, async () => {
        const user = await newUser();
        for (const send of [user.post, user.patch]) {
          const { status, body } = await send({ agent: 'must not be stored', ...change });
          assert.deepEqual([status, body.details[0].path], [422, place]);
        }
        assert.equal((await user.get()).agent, null);
      });
    }

    it('refuses null for a boolean by POST, and what is unknown or read-only by PATCH, 422', async () => {
      const user = await newUser();
      const nulled = await user.post({ enable_default_condenser: null });
      assert.deepEqual([nulled.status, nulled.body.details[0].path], [422, 'enable_default_condenser']);
      for (const name of [
        'unknown',
        'email_verified',
        'llm_api_key_set',
        'provider_tokens_set',
        '__proto__',
      ]) {
        const raw = `{"${name}": true}`;
        const { body: made } = await service.ask('/api/keys', { json: { name: 'k' } });
        const { status, body } = await service.ask(path, {
          method: 'PATCH',
          raw,
          key: made.key,
          headers: { 'content-type': 'application/json' },
        });
        assert.deepEqual([status, body.details[0].path], [422, name]);
      }
      assert.equal((await user.post({ email_verified: true })).status, 200);
      assert.equal((await user.get()).email_verified, null);
    });

    it('needs settings:write, 403', async () => {
      const { body } = await service.ask('/api/keys', { json: { name: 'r', scopes: ['settings:read'] } });
      const { status } = await service.ask(path, { json: {}, key: body.key });
      assert.equal(status, 403);
    });
  });
}
