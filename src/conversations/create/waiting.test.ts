import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { startService } from '../../../test/support/service.ts';

const path = '/api/conversations';
const waitingMax = 3;

for (const kind of databaseKinds) {
  describe(`conversations that wait on ${kind}`, () => {
    it('are bounded for each user: one more is refused, 429, and nothing is stored', async (t) => {
      const service = await startService({ kind, env: { PARLEY_WAITING_MAX: String(waitingMax) } }, t);
      const create = (id: string, key?: string) =>
        service.ask(path, { json: { conversation_id: id }, ...(key === undefined ? {} : { key }) });
      for (let i = 0; i < waitingMax; i++) assert.equal((await create(`c${i}`)).status, 200);
      const { status, body, headers } = await create('one-more');
      assert.deepEqual([status, body.code], [429, 'too_many_waiting']);
      assert.ok(Number(headers.get('retry-after')) > 0);
      assert.equal(await countRows(service.storage, 'conversations'), waitingMax);

      // A retry of what exists is answered, and others are not locked back.
      assert.equal((await create('c0')).status, 200);
      const { body: made } = await service.ask('/api/keys', {
        json: { name: 'k', scopes: ['conversations:write'], user: 'eve' },
      });
      assert.equal((await create('hers', made.key)).status, 200);

      await service.ask(`${path}/c0/stop`, { method: 'POST' });
      assert.equal((await create('one-more')).status, 200);
      for (const [what, json] of [
        ['start', {}],
        ['message', { message: 'go on' }],
      ] as const) {
        const woken = await service.ask(`${path}/c0/${what}`, { json });
        assert.deepEqual([woken.status, woken.body.code], [429, 'too_many_waiting']);
      }
      // Otherwise the conversation would seem to have work to do when it is started again.
      const [stopped] = await inspect(service.storage, "select said from conversations where id = 'c0'");
      assert.equal(Number(stopped?.['said']), 0);
      assert.equal((await service.ask(`${path}/c1/message`, { json: { message: 'more' } })).status, 200);
    });
  });
}
