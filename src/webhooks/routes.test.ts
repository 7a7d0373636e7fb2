import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const w = '/api/webhooks';
const hook = { url: 'https://bot.invalid/in?token=of-mine', events: ['conversation.status'] };

for (const kind of databaseKinds) {
  describe(`${w} on ${kind}`, () => {
    let service: TestService;
    let ada: string;
    before(async () => {
      service = await startService({ kind, env: { PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' } });
      ada = (await service.ask('/api/keys', { json: { name: 'laptop', user: 'ada' } })).body.key;
    });
    after(() => service.stop());

    const create = (json: object = hook, key = service.key) => service.ask(w, { json, key });
    const list = async (key = service.key) => (await service.ask(w, { key })).body.webhooks;
    const remove = (id: string, key = service.key) => service.ask(`${w}/${id}`, { method: 'DELETE', key });

    /** Messages that were given up, as if by a receiver that was away. */
    async function fail(id: string, count: number): Promise<void> {
      for (let i = 0; i < count; i++) await service.ask('/api/conversations', { json: {} });
      await inspect(
        service.storage,
        `update deliveries set state = 'failed', last_status = 500, last_error = 'It responded with 500.'
         where webhook_id = '${id}'`,
      );
    }

    it('returns the record and, once, the secret, 201', async () => {
      const { status, body } = await create({ ...hook, description: 'chat bot' });
      assert.equal(status, 201);
      const { id, secret, created_at, ...rest } = body;
      assert.match(id, /^wh_[0-9a-f]{32}$/);
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      assert.equal(new Date(created_at).toISOString(), created_at);
      assert.deepEqual(rest, { ...hook, description: 'chat bot', format: 'parley', waiting: 0, failed: 0 });
      const [shown] = await list();
      assert.deepEqual(shown, { id, created_at, ...rest });
      assert.equal((await remove(id)).status, 200);
      assert.deepEqual(await list(), []);
    });

    it('refuses what is no webhook, 422 with the place and without the value', async () => {
      const long = `https://bot.invalid/${'x'.repeat(2_048)}`;
      const bad: readonly (readonly [object, string])[] = [
        [{ events: hook.events }, 'url'],
        [{ url: hook.url }, 'events'],
        [{ ...hook, url: 'CANARY' }, 'url'],
        [{ ...hook, url: 'ftp://CANARY.example' }, 'url'],
        [{ ...hook, url: 'https://' }, 'url'],
        [{ ...hook, url: 'https://a.example/ CANARY' }, 'url'],
        [{ ...hook, url: 'https://user:CANARY@a.example' }, 'url'],
        [{ ...hook, url: 'https://a.example/#CANARY' }, 'url'],
        [{ ...hook, url: long }, 'url'],
        [{ ...hook, url: 7 }, 'url'],
        [{ ...hook, url: 'http://169.254.169.254/CANARY' }, 'url'],
        [{ ...hook, url: 'http://[fe80::1]/CANARY' }, 'url'],
        [{ ...hook, events: [] }, 'events'],
        [{ ...hook, events: ['CANARY'] }, 'events[0]'],
        [{ ...hook, events: ['conversation.status', 'conversation.status'] }, 'events'],
        [{ ...hook, description: 'x'.repeat(1_025) }, 'description'],
        [{ ...hook, format: 'CANARY' }, 'format'],
        [{ ...hook, format: 'slack', events: ['conversation.waiting', 'conversation.event'] }, 'events'],
        [{ ...hook, format: 'slack', url: 'http://169.254.169.254/CANARY' }, 'url'],
        [{ ...hook, description: 'a\0b' }, 'description'],
        [{ ...hook, secret: 'CANARY' }, 'secret'],
      ];
      for (const [json, path] of bad) {
        const { status, body, text } = await create(json);
        assert.equal(status, 422, text);
        assert.equal(body.code, 'invalid');
        assert.equal(body.details[0].path, path, text);
        assert.ok(!text.includes('CANARY'), text);
      }
      assert.deepEqual(await list(), []);
    });

    it('needs the scope webhooks:manage, 403, and a session key, 401', async () => {
      const made = await service.ask('/api/keys', { json: { name: 'n', scopes: ['conversations:write'] } });
      const { key } = made.body;
      assert.equal((await service.ask(w, { key })).status, 403);
      assert.equal((await create(hook, key)).status, 403);
      assert.equal((await service.ask(w, { key: null, bearer: key })).status, 401);
      for (const path of ['/wh_1', '/wh_1/deliveries', '/wh_1/redeliver', '/wh_1/deliveries/m/redeliver']) {
        const method = path === '/wh_1' ? 'DELETE' : path.endsWith('redeliver') ? 'POST' : 'GET';
        assert.equal((await service.ask(w + path, { method, key })).status, 403);
      }
    });

    it('keeps 20 for a user, 422 limit_reached, even where they come at once', async () => {
      const answers = await Promise.all(Array.from({ length: 25 }, () => create(hook, ada)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 20);
      for (const { body } of answers.filter(({ status }) => status !== 201))
        assert.equal(body.code, 'limit_reached');
      for (const { id } of await list(ada)) assert.equal((await remove(id, ada)).status, 200);
    });

    it('shows nothing of another user, 404', async () => {
      const { id } = (await create()).body;
      await fail(id, 1);
      const [{ id: delivery }] = (await service.ask(`${w}/${id}/deliveries`)).body.deliveries;
      assert.deepEqual(await list(ada), []);
      const foreign = [
        await remove(id, ada),
        await service.ask(`${w}/${id}/deliveries`, { key: ada }),
        await service.ask(`${w}/${id}/redeliver`, { method: 'POST', key: ada }),
        await service.ask(`${w}/${id}/deliveries/${delivery}/redeliver`, { method: 'POST', key: ada }),
      ];
      const unknown = [
        await remove('wh_0'),
        await remove(id.toUpperCase()),
        await service.ask(`${w}/wh_0/deliveries`),
        await service.ask(`${w}/wh_0/redeliver`, { method: 'POST' }),
        await service.ask(`${w}/${id}/deliveries/msg_0/redeliver`, { method: 'POST' }),
      ];
      for (const { status, body } of [...foreign, ...unknown]) {
        assert.equal(status, 404);
        assert.equal(body.code, 'not_found');
      }
      assert.equal((await list())[0].failed, 1);
      await remove(id);
    });

    it('does not send to a message of one webhook under the name of another, 404', async () => {
      const [one, other] = [(await create()).body.id, (await create()).body.id];
      await fail(one, 1);
      const [{ id: delivery }] = (await service.ask(`${w}/${one}/deliveries`)).body.deliveries;
      const path = `${w}/${other}/deliveries/${delivery}/redeliver`;
      assert.equal((await service.ask(path, { method: 'POST' })).status, 404);
      await remove(one);
      await remove(other);
    });

    it('pages through messages, the newest first', async () => {
      const { id } = (await create()).body;
      await fail(id, 5);
      const deliveries = (query: string) => service.ask(`${w}/${id}/deliveries?${query}`);
      const ids: string[] = [];
      let pages = 0;
      for (let page = ''; pages < 10; pages++) {
        const { body } = await deliveries(`state=failed&limit=2${page}`);
        ids.push(...body.deliveries.map((delivery: { id: string }) => delivery.id));
        if (body.next_page_id === null) break;
        page = `&page_id=${body.next_page_id}`;
      }
      assert.equal(pages, 2);
      assert.equal(ids.length, 5);
      assert.deepEqual(ids, ids.toSorted().reverse());
      const [{ conversation_id, created_at, ...shown }] = (await deliveries('limit=1')).body.deliveries;
      assert.match(conversation_id, /^[0-9a-f]{32}$/);
      assert.equal(new Date(created_at).toISOString(), created_at);
      assert.deepEqual(
        { ...shown, attempts: 0 },
        {
          id: ids[0],
          type: 'conversation.status',
          state: 'failed',
          attempts: 0,
          next_attempt_at: null,
          last_status: 500,
          last_error: 'It responded with 500.',
        },
      );
      assert.deepEqual((await deliveries('state=waiting')).body, { deliveries: [], next_page_id: null });
      for (const query of ['limit=0', 'limit=101', 'limit=x', 'limit=1.5', 'state=CANARY']) {
        const { status, text } = await deliveries(query);
        assert.equal(status, 422, query);
        assert.ok(!text.includes('CANARY'));
      }
      await remove(id);
    });

    it('sends failed messages again, one or all of them', async (t) => {
      const receiver = await startReceiver(t);
      receiver.answer(() => 410);
      const { id } = (await create({ ...hook, url: receiver.url })).body;
      for (let i = 0; i < 3; i++) await service.ask('/api/conversations', { json: {} });
      await until('all are given up', async () => (await list())[0].failed === 3);
      receiver.answer(() => 200);
      const [{ id: delivery }] = (await service.ask(`${w}/${id}/deliveries`)).body.deliveries;
      const path = `${w}/${id}/deliveries/${delivery}/redeliver`;
      assert.deepEqual((await service.ask(path, { method: 'POST' })).body, { redelivered: 1 });
      await until(
        'one arrives',
        async () => (await list())[0].failed === 2 && (await list())[0].waiting === 0,
      );
      assert.equal(receiver.received.at(-1)?.id, delivery);
      assert.deepEqual((await service.ask(`${w}/${id}/redeliver`, { method: 'POST' })).body, {
        redelivered: 2,
      });
      await until('all arrive', () => receiver.received.length === 6);
      assert.deepEqual((await service.ask(`${w}/${id}/redeliver`, { method: 'POST' })).body, {
        redelivered: 0,
      });
      await remove(id);
    });

    it('leaves a message alone that still waits, 200 with 0', async () => {
      const { id } = (await create({ ...hook, url: 'http://127.0.0.1:1/' })).body;
      await service.ask('/api/conversations', { json: {} });
      const waiting = async () => (await service.ask(`${w}/${id}/deliveries?state=waiting`)).body.deliveries;
      const [{ id: delivery }] = await waiting();
      const path = `${w}/${id}/deliveries/${delivery}/redeliver`;
      assert.deepEqual((await service.ask(path, { method: 'POST' })).body, { redelivered: 0 });
      await remove(id);
    });

    it('records who made and who deleted one', async () => {
      const { id } = (await create()).body;
      await remove(id);
      const entries = await inspect(
        service.storage,
        `select action, subject from audit where subject = '${id}' order by id`,
      );
      assert.deepEqual(
        entries.map(({ action }) => action),
        ['webhook.create', 'webhook.delete'],
      );
    });
  });

  describe(`the secret of a webhook on ${kind}`, () => {
    it('is in no later answer, log line, row or file, and the URL is not in the log', async (t) => {
      const receiver = await startReceiver(t);
      receiver.answer(() => 500);
      const service = await startService({ kind }, t);
      const { id, secret } = (await service.ask(w, { json: { ...hook, url: receiver.url } })).body;
      const bytes = String(secret).slice('whsec_'.length);
      await service.ask('/api/conversations', { json: {} });
      await until('a message fails', async () => {
        const { body } = await service.ask(`${w}/${id}/deliveries`);
        return body.deliveries[0]?.last_status === 500;
      });
      const answers = [
        await service.ask(w),
        await service.ask(`${w}/${id}/deliveries`),
        await service.ask('/openapi.json'),
      ];
      for (const { text } of answers) assert.ok(!text.includes(bytes));
      for (const table of ['webhooks', 'deliveries', 'audit'])
        assert.ok(!JSON.stringify(await inspect(service.storage, `select * from ${table}`)).includes(bytes));
      const [stored] = await inspect(service.storage, 'select sealed from webhooks');
      assert.match(String(stored?.['sealed']), /^v1\.[0-9a-f]{16}\./);
      assert.ok(!service.logs().includes('in-the-url'));
      for (const { text } of receiver.received) assert.ok(!text.includes(bytes));
      const files = readdirSync(service.storage.dataDir, { withFileTypes: true, recursive: true });
      for (const { parentPath, name } of files.filter((entry) => entry.isFile()))
        assert.ok(!readFileSync(join(parentPath, name)).includes(bytes), name);
    });
  });

  describe(`the URL of a chat service on ${kind}`, () => {
    it('is used, but in no answer, error, log line, row or file', async (t) => {
      const receiver = await startReceiver(t);
      receiver.answer(() => 500);
      const service = await startService({ kind }, t);
      const created = await service.ask(w, { json: { ...hook, url: receiver.url, format: 'slack' } });
      const { id, url } = created.body;
      assert.equal(url, `${new URL(receiver.url).origin}/**********`);
      await service.ask('/api/conversations', { json: {} });
      const deliveries = () => service.ask(`${w}/${id}/deliveries`);
      await until(
        'a message fails',
        async () => (await deliveries()).body.deliveries[0]?.last_status === 500,
      );
      assert.match(receiver.received[0]?.body.text, /^Starting: /);
      receiver.answer(() => 200);
      await receiver.stop();
      const answers = [created, await service.ask(w), await deliveries(), await service.ask('/api/audit')];
      for (const { text } of answers) assert.ok(!text.includes('in-the-url'), text);
      for (const table of ['webhooks', 'deliveries', 'audit'])
        assert.ok(
          !JSON.stringify(await inspect(service.storage, `select * from ${table}`)).includes('in-the-url'),
        );
      assert.ok(!service.logs().includes('in-the-url'));
      const files = readdirSync(service.storage.dataDir, { withFileTypes: true, recursive: true });
      for (const { parentPath, name } of files.filter((entry) => entry.isFile()))
        assert.ok(!readFileSync(join(parentPath, name)).includes('in-the-url'), name);
    });
  });

  describe(`a private address on ${kind}`, () => {
    it('is refused where the operator does not allow it, 422 without the URL', async (t) => {
      const service = await startService({ kind, env: { PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' } }, t);
      for (const host of [
        '127.0.0.1:8080',
        '10.1.2.3',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '0x7f.1',
        'localhost:8080',
        'x.localhost',
      ]) {
        const { status, body, text } = await service.ask(w, {
          json: { ...hook, url: `http://${host}/CANARY` },
        });
        assert.equal(status, 422, text);
        assert.match(
          body.error,
          /^url must not be a private address; the operator can allow this host with PARLEY_ALLOW_PRIVATE_ADDRESSES/,
        );
        assert.ok(!text.includes('CANARY'));
      }
      assert.equal((await service.ask(w, { json: hook })).status, 201);
    });
  });
}
