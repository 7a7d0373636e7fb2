import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';
const knownAgents = /must be one of CodeActAgent, builtin, opencode, claude, codex, gemini, qwen/;

for (const kind of databaseKinds) {
  describe(`the agent and the model of a conversation on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
      await service.ask('/api/settings', {
        json: { llm_model: 'anthropic/claude-sonnet-4-5', llm_api_key: 'sk-anthropic' },
      });
    });
    after(() => service.stop());

    const create = (json: unknown, key?: string) =>
      service.ask(path, { json, ...(key === undefined ? {} : { key }) });
    const patch = (id: string, json: unknown, key?: string) =>
      service.ask(`${path}/${id}`, { method: 'PATCH', json, ...(key === undefined ? {} : { key }) });
    const settings = (json: unknown, method = 'POST') => service.ask('/api/settings', { method, json });
    const setKey = (provider: string) =>
      service.ask(`/api/provider-keys/${provider}`, { method: 'PUT', json: { api_key: `sk-${provider}` } });
    const removeKey = (provider: string) =>
      service.ask(`/api/provider-keys/${provider}`, { method: 'DELETE' });

    async function created(json: unknown): Promise<string> {
      const { status, body, text } = await create(json);
      assert.equal(status, 200, text);
      return body.conversation_id;
    }

    async function choiceOf(id: string) {
      const { body } = await service.ask(`${path}/${id}`);
      const { body: list } = await service.ask(path);
      const listed = list.results.find((one: { conversation_id: string }) => one.conversation_id === id);
      assert.deepEqual([listed.agent, listed.llm_model], [body.agent, body.llm_model]);
      return [body.agent, body.llm_model];
    }

    async function noticesOf(id: string): Promise<(string | undefined)[]> {
      const { body } = await service.ask(`${path}/${id}/events?limit=100`);
      return body.events
        .filter((event: { observation?: string }) => event.observation === 'notice')
        .map((event: { extras: object; content: string }) => [event.extras, event.content]);
    }

    it('refuses text that cannot be the name of a model, 422, and names the field', async () => {
      const id = await created({});
      for (const name of [
        'openai/gpt\n5',
        'a\u001b[31m',
        'a\u2028b',
        'deepseek/',
        '/x',
        'a//b',
        'a/../b',
        '..',
        ' ',
      ])
        for (const { status, body } of [
          await create({ llm_model: name }),
          await patch(id, { llm_model: name }),
        ]) {
          assert.deepEqual([status, body.details?.[0]?.path], [422, 'llm_model'], JSON.stringify(name));
          assert.match(body.error, /control characters|such as openai\/gpt-5/);
        }
      const { status, body } = await settings({ llm_model: 'openai/gpt\n5' });
      assert.deepEqual([status, body.details[0].path], [422, 'llm_model']);
    });

    describe('POST /api/conversations', () => {
      it('takes an agent and a model, which the info and the list show, 200', async () => {
        const model = 'anthropic/claude-opus-4-1';
        assert.deepEqual(await choiceOf(await created({ agent: 'claude', llm_model: model })), [
          'claude',
          model,
        ]);
        assert.deepEqual(await choiceOf(await created({ agent: 'CodeActAgent' })), ['builtin', null]);
        for (const none of [{}, { agent: null, llm_model: null }, { agent: '', llm_model: '' }])
          assert.deepEqual(await choiceOf(await created(none)), [null, null]);
        const { body } = await service.ask('/api/settings');
        assert.deepEqual([body.agent, body.llm_model], [null, 'anthropic/claude-sonnet-4-5']);
      });

      it('refuses an unknown agent and names the known ones, 422', async () => {
        const before = await countRows(service.storage, 'conversations');
        const { status, body } = await create({ agent: 'nonsense' });
        assert.deepEqual([status, body.code, body.details[0].path], [422, 'invalid', 'agent']);
        assert.match(body.error, knownAgents);
        assert.equal(await countRows(service.storage, 'conversations'), before);
      });

      it('refuses a model without a key and says which key to store and how, 422', async () => {
        const before = await countRows(service.storage, 'conversations');
        const { status, body } = await create({ llm_model: 'mistral/devstral-medium' });
        assert.deepEqual(
          [status, body.code, body.details[0].path],
          [422, 'provider_key_missing', 'llm_model'],
        );
        assert.match(body.error, /^No API key of mistral is stored\./);
        assert.match(body.error, /parley provider-keys set mistral.*PUT \/api\/provider-keys\/mistral/);
        assert.equal(await countRows(service.storage, 'conversations'), before);
        await setKey('mistral');
        await created({ llm_model: 'mistral/devstral-medium' });
      });

      it('takes models of the provider in the settings, aliases, and models that need no key, 200', async () => {
        for (const llm_model of [
          'anthropic/claude-opus-4-1',
          'openhands/claude-opus-4-1',
          'ollama/qwen3',
          'anthropic/a-model-that-nobody-knows',
        ])
          assert.deepEqual(await choiceOf(await created({ llm_model })), [null, llm_model]);
      });

      it('refuses a model without a known provider, and one that the agent cannot speak to, 422', async () => {
        const nowhere = await create({ llm_model: 'no-provider' });
        assert.deepEqual([nowhere.status, nowhere.body.code], [422, 'invalid']);
        assert.match(nowhere.body.error, /no known provider.*llm_base_url/);
        const mute = await create({ agent: 'codex', llm_model: 'anthropic/claude-opus-4-1' });
        assert.equal(mute.status, 422);
        assert.match(mute.body.error, /speaks OpenAI's responses, which anthropic does not offer/);
      });

      it('returns the first conversation for a retry, and a conflict for another agent or model', async () => {
        const json = { conversation_id: `retry-${kind}`, agent: 'builtin', llm_model: 'xai/grok-4' };
        await setKey('xai');
        await created(json);
        for (const same of [json, { ...json, agent: 'CodeActAgent' }])
          assert.equal((await create(same)).status, 200);
        for (const other of [
          { ...json, agent: 'claude' },
          { ...json, llm_model: 'xai/grok-3' },
          { ...json, llm_model: null },
          { conversation_id: json.conversation_id },
        ])
          assert.equal((await create(other)).body.code, 'conversation_exists');
        // What was created once is found again, even if it could not be created now.
        await removeKey('xai');
        assert.equal((await create(json)).status, 200);
        assert.equal((await create({ ...json, conversation_id: 'other' })).status, 422);
        const headers = { 'idempotency-key': `key-${kind}` };
        await setKey('xai');
        const { conversation_id: _, ...keyed } = json;
        const first = await service.ask(path, { json: keyed, headers });
        await removeKey('xai');
        const again = await service.ask(path, { json: keyed, headers });
        assert.equal(again.body.conversation_id, first.body.conversation_id);
      });
    });

    describe('PATCH /api/conversations/{id}', () => {
      it('changes the agent and the model, and records each change once, 200', async () => {
        const id = await created({});
        const change = { agent: 'claude', llm_model: 'anthropic/claude-opus-4-1' };
        const { status, body } = await patch(id, change);
        assert.deepEqual([status, body], [200, true]);
        assert.deepEqual(await choiceOf(id), [change.agent, change.llm_model]);
        await patch(id, change);
        await patch(id, { title: 'Mine', llm_model: null });
        assert.deepEqual(await choiceOf(id), ['claude', null]);
        assert.equal((await service.ask(`${path}/${id}`)).body.title, 'Mine');
        await patch(id, { agent: null });
        assert.deepEqual(await choiceOf(id), ['builtin', null]);
        assert.deepEqual(await noticesOf(id), [
          [{ notice_id: 'AGENT_CHANGED' }, 'From the next turn on, the agent is claude.'],
          [{ notice_id: 'MODEL_CHANGED' }, 'From the next turn on, the model is anthropic/claude-opus-4-1.'],
          [{ notice_id: 'MODEL_CHANGED' }, 'From the next turn on, the model is the one in the settings.'],
          [{ notice_id: 'AGENT_CHANGED' }, 'From the next turn on, the agent is builtin.'],
        ]);
      });

      it('changes the approval mode, and records each change once, 200', async () => {
        const id = await created({ confirmation_mode: false });
        const mode = async () => (await service.ask(`${path}/${id}`)).body.confirmation_mode;
        assert.equal(await mode(), false);
        for (const confirmation_mode of [false, true, true, null]) {
          assert.equal((await patch(id, { confirmation_mode })).body, true);
          assert.equal(await mode(), confirmation_mode);
        }
        assert.equal((await service.ask('/api/settings')).body.confirmation_mode, null);
        assert.deepEqual(await noticesOf(id), [
          [{ notice_id: 'CONFIRMATION_MODE_CHANGED' }, 'From the next turn on, actions need your approval.'],
          [
            { notice_id: 'CONFIRMATION_MODE_CHANGED' },
            'From the next turn on, your settings say whether actions need your approval.',
          ],
        ]);
        assert.equal((await patch(id, { confirmation_mode: 'on' })).status, 422);
      });

      it('takes a title alone, and leaves the log as it is, 200', async () => {
        const id = await created({ agent: 'claude' });
        assert.equal((await patch(id, { title: 'Only a title' })).body, true);
        assert.deepEqual(await choiceOf(id), ['claude', null]);
        assert.deepEqual(await noticesOf(id), []);
        assert.equal((await patch(id, {})).status, 422);
      });

      it('refuses what a creation refuses, and changes nothing, 422', async () => {
        const id = await created({ agent: 'codex' });
        const unknown = await patch(id, { title: 'x', agent: 'nonsense' });
        assert.deepEqual([unknown.status, unknown.body.details[0].path], [422, 'agent']);
        assert.match(unknown.body.error, knownAgents);
        const keyless = await patch(id, { title: 'x', llm_model: 'openai/gpt-5' });
        assert.deepEqual([keyless.status, keyless.body.code], [422, 'provider_key_missing']);
        // The agent that it has counts.
        assert.equal((await patch(id, { llm_model: 'anthropic/claude-opus-4-1' })).status, 422);
        const both = { agent: 'claude', llm_model: 'anthropic/claude-opus-4-1' };
        assert.equal((await patch(id, both)).status, 200);
        assert.equal((await patch(id, { agent: 'codex' })).status, 422);
        assert.deepEqual(await choiceOf(id), [both.agent, both.llm_model]);
        assert.notEqual((await service.ask(`${path}/${id}`)).body.title, 'x');
      });

      it('does not find conversations of others, whose keys count for nobody else', async () => {
        const { body } = await service.ask('/api/keys', { json: { name: 'k', user: 'bob' } });
        const id = await created({});
        assert.equal((await patch(id, { agent: 'claude' }, body.key)).status, 404);
        assert.equal((await patch(id, { llm_model: 'ollama/qwen3' }, body.key)).status, 404);
        assert.deepEqual(await choiceOf(id), [null, null]);
        await setKey('groq');
        const json = { llm_model: 'groq/llama' };
        assert.equal((await create(json)).status, 200);
        assert.equal((await create(json, body.key)).body.code, 'provider_key_missing');
      });
    });

    describe('the agent in the settings', () => {
      it('must be a known one, 422', async () => {
        for (const method of ['POST', 'PATCH']) {
          const { status, body } = await settings({ agent: 'nonsense', language: 'de' }, method);
          assert.deepEqual([status, body.details[0].path], [422, 'agent']);
          assert.match(body.error, knownAgents);
        }
        assert.equal((await service.ask('/api/settings')).body.language, null);
        for (const agent of ['CodeActAgent', 'claude', null])
          assert.equal((await settings({ agent })).status, 200);
      });

      it('may be sent back if an earlier version has stored it, 200', async () => {
        const document = JSON.stringify({ agent: 'gone', llm_model: 'anthropic/claude-sonnet-4-5' });
        const { body: key } = await service.ask('/api/keys', { json: { name: 'k', user: 'eve' } });
        const ask = (json: unknown) => service.ask('/api/settings', { json, key: key.key });
        await ask({ language: 'en' });
        await inspect(
          service.storage,
          `update settings set document = '${document}' where user_id = (select id from users where name = 'eve')`,
        );
        assert.equal((await ask({ agent: 'gone', language: 'de' })).status, 200);
        assert.equal((await ask({ agent: 'gone too' })).status, 422);
      });
    });

    describe('llm_base_url', () => {
      it('serves the provider of the settings and models without one, until the provider has a key', async () => {
        const { body } = await service.ask('/api/keys', { json: { name: 'k', user: 'carl' } });
        const key = body.key as string;
        const ask = (json: unknown, method = 'POST') => service.ask('/api/settings', { json, method, key });
        const isTaken = async (llm_model: string) => (await create({ llm_model }, key)).status === 200;
        await ask({ llm_model: 'openai/local', llm_base_url: 'https://models.example.com/v1' });
        assert.deepEqual(
          await Promise.all(['openai/other', 'no-provider', 'anthropic/claude-opus-4-1'].map(isTaken)),
          [true, true, false],
        );
      });
    });
  });
}
