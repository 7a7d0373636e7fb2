// Ids that clients choose, with characters that mean something to paths, URLs, SQL, shells or HTML: every route finds
// them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows } from '../../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';

const good = [
  '<string>',
  '...',
  '.hidden',
  '-n',
  "it's",
  '"quoted"',
  "';drop",
  '$(id)`id`',
  'a+b=c&d;e,f@g:h!i*j(k)[l]{m}|n^o~p_q',
  '&lt;b&gt;',
  '日本語',
  'e\u0301',
  '🙂'.repeat(128),
  ','.repeat(128),
];

const bad = [
  '',
  '.',
  '..',
  'a b',
  ' a',
  'a\t',
  'a\u00a0b',
  'a\u2028',
  'a/b',
  'a\\b',
  'a?b',
  'a#b',
  'a%2fb',
  'a\u0007',
  'a\u200bb',
  'a\u202eb',
  'a\ufe0f',
  'a\ue000',
  '🙂'.repeat(129),
  'x'.repeat(5_000),
];

for (const kind of databaseKinds) {
  describe(`conversation_id on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind, env: { PARLEY_ROLE: 'api' } });
    });
    after(() => service.stop());

    const ask = (id: string, rest = '', method?: string, json?: unknown): Promise<Answer> =>
      service.ask(`${path}/${encodeURIComponent(id)}${rest}`, {
        ...(method === undefined ? {} : { method }),
        ...(json === undefined ? {} : { json }),
      });

    for (const id of good) {
      it(`may be ${id.slice(0, 40)}: every route finds it, 200`, async () => {
        const { status, body } = await service.ask(path, { json: { conversation_id: id } });
        assert.deepEqual([status, body.conversation_id], [200, id]);
        const again = await service.ask(path, { json: { conversation_id: id } });
        assert.equal(again.body.conversation_id, id);
        const { body: info } = await ask(id);
        assert.equal(info.conversation_id, id);
        assert.ok(info.title.isWellFormed());
        assert.deepEqual((await ask(id, '', 'PATCH', { title: 'Renamed' })).body, true);
        assert.equal((await ask(id, '/message', 'POST', { message: 'hi' })).body.success, true);
        assert.equal((await ask(id, '/stop', 'POST')).body.conversation_status, 'STOPPED');
        assert.ok((await ask(id, '/events')).body.events.length >= 2);
        assert.equal((await ask(id, '/config')).body.session_id, id);
        const { body: list } = await service.ask(`${path}?limit=1000`);
        assert.ok(list.results.some((one: { conversation_id: string }) => one.conversation_id === id));
        assert.deepEqual((await ask(id, '', 'DELETE')).body, true);
        assert.equal((await ask(id)).body, null);
      });
    }

    it('is refused where a character cannot be seen or would mean something elsewhere, 422', async () => {
      for (const id of bad) {
        const { status, body } = await service.ask(path, { json: { conversation_id: id } });
        assert.deepEqual([status, body.details.length], [422, 1], JSON.stringify(id));
        assert.deepEqual(body.details[0].path, 'conversation_id');
        assert.match(body.details[0].message, /^must be 1 to 128 printable characters without spaces/);
      }
      assert.equal(await countRows(service.storage, 'conversations'), 0);
    });

    it('names nothing in a path where it could not be one, 200 null and 404', async () => {
      for (const id of bad.filter((one) => one !== '' && !/^\.+$/.test(one) && one.length <= 512)) {
        assert.equal((await ask(id)).body, null, JSON.stringify(id));
        assert.equal((await ask(id, '/stop', 'POST')).status, 404);
      }
    });
  });
}
