import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { startService } from '../../../test/support/service.ts';

for (const kind of databaseKinds) {
  describe(`feedback on ${kind}`, () => {
    it('is stored, exported to its user alone, and deleted with its conversation', async (t) => {
      const service = await startService({ kind }, t);
      const { body: created } = await service.ask('/api/conversations', { json: {} });
      const path = `/api/conversations/${created.conversation_id}`;
      const json = { polarity: 'positive', comment: 'Well done.', email: 'ada@example.com' };
      const { status, body } = await service.ask(`${path}/feedback`, { json });
      assert.equal(status, 200);
      const [record, ...others] = (await service.ask('/api/feedback')).body.results;
      assert.deepEqual(others, []);
      const { created_at, ...rest } = record;
      assert.ok(Date.now() - Date.parse(created_at) < 60_000);
      const named = { id: body.id, conversation_id: created.conversation_id };
      assert.deepEqual(rest, { ...named, ...json, version: '', permissions: 'private' });
      const { body: other } = await service.ask('/api/keys', { json: { name: 'k', user: 'other' } });
      assert.deepEqual((await service.ask('/api/feedback', { key: other.key })).body.results, []);
      assert.equal((await service.ask(`${path}/feedback`, { json, key: other.key })).status, 404);
      await service.ask(path, { method: 'DELETE' });
      assert.equal(await countRows(service.storage, 'feedback'), 0);
    });

    it('is limited in number and size, 422', async (t) => {
      const service = await startService({ kind }, t);
      const { body: created } = await service.ask('/api/conversations', { json: {} });
      const send = (json: object) =>
        service.ask(`/api/conversations/${created.conversation_id}/feedback`, { json });
      assert.equal((await send({ polarity: 'positive', comment: 'x'.repeat(5_000) })).status, 422);
      assert.equal((await send({ polarity: 'neutral' })).status, 422);
      const [user] = await inspect(service.storage, 'select user_id from conversations');
      const values = Array.from(
        { length: 1_000 },
        (_, i) => `('f${i}', ${user?.['user_id']}, 1, 'c', 'positive', '', '', '', 'private', 1)`,
      );
      const columns =
        'id, user_id, conversation_key, conversation_id, polarity, comment, email, version, permissions, created_at';
      await inspect(service.storage, `insert into feedback (${columns}) values ${values.join()}`);
      const { status, body } = await send({ polarity: 'positive' });
      assert.deepEqual([status, body.code], [422, 'limit_reached']);
    });
  });
}
