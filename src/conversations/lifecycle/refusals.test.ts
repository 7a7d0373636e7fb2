import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';
const secretValue = 'value-that-must-not-come-back';

/** Every route that names a conversation. */
const reads = ['', '/config', '/vscode-url', '/web-hosts', '/events', '/trajectory', '/events/stream'];
const writes: readonly { method: string; suffix: string; json?: unknown }[] = [
  { method: 'PATCH', suffix: '', json: { title: 'mine now' } },
  { method: 'POST', suffix: '/start', json: {} },
  { method: 'POST', suffix: '/stop' },
  { method: 'POST', suffix: '/message', json: { message: 'hello' } },
  { method: 'POST', suffix: '/events', json: { action: 'message', args: { content: 'hello' } } },
  {
    method: 'POST',
    suffix: '/events',
    json: { action: 'change_agent_state', args: { agent_state: 'running' } },
  },
  { method: 'DELETE', suffix: '' },
];

/** What a caller can tell two answers apart by. */
function visible({ status, headers, text }: Answer) {
  const named = Object.fromEntries(headers);
  const { date: _date, 'x-request-id': _id, 'keep-alive': _keep, ...rest } = named;
  return { status, headers: rest, text: text.replace(/"request_id":"[^"]+"/, '') };
}

for (const kind of databaseKinds) {
  describe(`a request about a conversation on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    async function create(json: Record<string, unknown> = {}): Promise<string> {
      const { status, body } = await service.ask(path, { json });
      assert.equal(status, 200);
      return body.conversation_id;
    }

    /** Everything that a change would leave behind. */
    async function traces() {
      return {
        changes: await countRows(service.storage, 'changes'),
        events: await countRows(service.storage, 'events'),
        rows: await inspect(service.storage, 'select * from conversations order by key'),
      };
    }

    async function makeKey(scopes: readonly string[], user?: string): Promise<string> {
      const { body } = await service.ask('/api/keys', { json: { name: 'k', scopes, user } });
      return body.key;
    }

    describe('somebody else', () => {
      it('cannot tell a conversation of mine from none, on any route', async () => {
        const everyAsk = [...reads.map((suffix) => ({ method: 'GET', suffix })), ...writes];
        const key = await makeKey(['conversations:read', 'conversations:write'], `eve-${kind}`);
        const askAll = async () => {
          const answers = [];
          for (const { suffix, ...ask } of everyAsk)
            answers.push(visible(await service.ask(`${path}/hidden${suffix}`, { ...ask, key })));
          return answers;
        };
        const unknown = await askAll();
        await create({ conversation_id: 'hidden', initial_user_msg: secretValue });
        const before = await traces();
        assert.deepEqual(await askAll(), unknown);
        assert.deepEqual(await traces(), before);
        assert.deepEqual(
          unknown.map(({ status }) => status),
          everyAsk.map(({ method, suffix }) => (suffix === '' && method !== 'PATCH' ? 200 : 404)),
        );
      });

      it('who holds no key that may read or write is refused, 403, without one, 401', async () => {
        const id = await create();
        const writer = await makeKey(['conversations:write']);
        const reader = await makeKey(['conversations:read']);
        const before = await traces();
        for (const suffix of reads) {
          const { status, body } = await service.ask(`${path}/${id}${suffix}`, { key: writer });
          assert.deepEqual([status, body.code], [403, 'forbidden'], suffix);
          assert.equal((await service.ask(`${path}/${id}${suffix}`, { key: null })).status, 401);
        }
        for (const { suffix, ...ask } of writes) {
          const { status, body } = await service.ask(`${path}/${id}${suffix}`, { ...ask, key: reader });
          assert.deepEqual([status, body.code], [403, 'forbidden'], suffix);
          assert.equal((await service.ask(`${path}/${id}${suffix}`, { ...ask, key: null })).status, 401);
        }
        assert.deepEqual(await traces(), before);
      });
    });

    describe('an id that cannot be', () => {
      it('is unknown on every route, whatever characters it holds', async () => {
        for (const id of ['%00', 'a%00b', '%F0%9F%98%80', '%27', '..%2f..', 'x'.repeat(500)]) {
          for (const suffix of reads) {
            const { status, text } = await service.ask(`${path}/${id}${suffix}`);
            assert.deepEqual(
              suffix === '' ? [status, text] : [status],
              suffix === '' ? [200, 'null'] : [404],
              id,
            );
          }
          for (const { suffix, ...ask } of writes) {
            const { status } = await service.ask(`${path}/${id}${suffix}`, ask);
            assert.equal(status, ask.method === 'DELETE' ? 200 : 404, `${ask.method} ${id}${suffix}`);
          }
        }
      });
    });

    describe('a body that is wrong', () => {
      const wrong: readonly [suffix: string, method: string, json: unknown, path: string][] = [
        ['', 'PATCH', {}, 'body'],
        ['', 'PATCH', { title: 'x', color: secretValue }, 'color'],
        ['', 'PATCH', [secretValue], 'body'],
        ['/start', 'POST', { providers_set: secretValue }, 'providers_set'],
        ['/start', 'POST', { providers_set: [7] }, 'providers_set[0]'],
        ['/start', 'POST', { providers_set: Array(17).fill('github') }, 'providers_set'],
        ['/start', 'POST', { color: secretValue }, 'color'],
        ['/message', 'POST', {}, 'message'],
        ['/message', 'POST', { message: null }, 'message'],
        ['/message', 'POST', { message: 'a\u0000b' }, 'message'],
        ['/message', 'POST', { message: 'x'.repeat(256 * 1_024 + 1) }, 'message'],
        ['/message', 'POST', { message: 'x', color: secretValue }, 'color'],
        ['/message', 'POST', { message: 'x', image_urls: [`ftp://${secretValue}`] }, 'image_urls[0]'],
        ['/message', 'POST', { message: 'x', image_urls: secretValue }, 'image_urls'],
        ['/events', 'POST', {}, 'action'],
        ['/events', 'POST', { action: secretValue, args: { content: 'x' } }, 'action'],
        ['/events', 'POST', { action: 'message' }, 'args'],
        ['/events', 'POST', { action: 'message', args: { content: 7 } }, 'args.content'],
        ['/events', 'POST', { action: 'change_agent_state', args: {} }, 'args.agent_state'],
        [
          '/events',
          'POST',
          { action: 'change_agent_state', args: { agent_state: secretValue } },
          'args.agent_state',
        ],
      ];

      it('is refused with the place and without the value, and stores nothing, 422', async () => {
        const id = await create();
        const before = await traces();
        for (const [suffix, method, json, place] of wrong) {
          const { status, body, text } = await service.ask(`${path}/${id}${suffix}`, { method, json });
          assert.deepEqual([status, body.code, body.details[0].path], [422, 'invalid', place], text);
          assert.ok(!text.includes(secretValue), text);
        }
        assert.deepEqual(await traces(), before);
      });

      it('that is no JSON is 400, and of another type 415', async () => {
        const id = await create();
        for (const { suffix, method } of writes.filter(({ json }) => json !== undefined)) {
          const asked = `${path}/${id}${suffix}`;
          const headers = { 'content-type': 'application/json' };
          const broken = await service.ask(asked, { method, raw: `{"${secretValue}`, headers });
          assert.deepEqual([broken.status, broken.body.code], [400, 'malformed_json']);
          assert.ok(!broken.text.includes(secretValue));
          const form = await service.ask(asked, {
            method,
            raw: 'a=b',
            headers: { 'content-type': 'text/plain' },
          });
          assert.equal(form.status, 415);
        }
      });
    });
  });
}
