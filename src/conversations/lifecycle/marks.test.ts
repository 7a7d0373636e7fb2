import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { startService } from '../../../test/support/service.ts';
import { openStream, untilFrames } from '../../../test/support/stream.ts';
import type { DatabaseKind } from '../../db/transaction.ts';

const path = '/api/conversations';

async function open(kind: DatabaseKind, t: TestContext) {
  const service = await startService({ kind }, t);
  const create = async (id: string) => {
    const json = { conversation_id: id, initial_user_msg: `Hello from ${id}` };
    assert.equal((await service.ask(path, { json })).status, 200);
  };
  const patch = (id: string, json: object) => service.ask(`${path}/${id}`, { method: 'PATCH', json });
  return {
    service,
    create,
    patch,
    info: async (id: string) => (await service.ask(`${path}/${id}`)).body,
    list: async (query: string): Promise<string[]> => {
      const { status, body, text } = await service.ask(`${path}?${query}`);
      assert.equal(status, 200, text);
      return body.results.map((info: { conversation_id: string }) => info.conversation_id);
    },
    message: (id: string) => service.ask(`${path}/${id}/message`, { json: { message: 'more' } }),
    stop: (id: string) => service.ask(`${path}/${id}/stop`, { method: 'POST' }),
  };
}

for (const kind of databaseKinds)
  describe(`marks of conversations on ${kind}`, () => {
    it('pins and archives, which changes no status, title or time, 200', async (t) => {
      const { create, patch, info, list } = await open(kind, t);
      for (const id of ['one', 'two', 'three']) await create(id);
      const before = await info('two');
      assert.deepEqual([before.pinned, before.archived], [false, false]);
      assert.equal((await patch('two', { pinned: true })).text, 'true');
      assert.equal((await patch('one', { archived: true })).text, 'true');
      const after = await info('two');
      assert.deepEqual({ ...after, pinned: false }, before);
      assert.equal(after.pinned, true);
      assert.deepEqual(await list(''), ['three', 'two', 'one']);
      assert.deepEqual(await list('archived=false'), ['three', 'two']);
      assert.deepEqual(await list('archived=true'), ['one']);
      assert.deepEqual(await list('pinned=true'), ['two']);
      assert.deepEqual(await list('pinned=False&archived=0'), ['three']);
      assert.equal((await patch('one', { archived: false })).status, 200);
      assert.deepEqual(await list('archived=true'), []);
    });

    it('is unread until its last event was seen, and again after the next one', async (t) => {
      const { create, patch, info, list, message } = await open(kind, t);
      await create('one');
      const created = await info('one');
      assert.equal(created.unread, true);
      assert.equal(created.seen_event_id, null);
      const last = created.last_event_id;
      assert.ok(last >= 0);
      await patch('one', { seen_event_id: last });
      const { unread, seen_event_id: seen } = await info('one');
      assert.deepEqual([unread, seen], [false, last]);
      assert.deepEqual(await list('unread=true'), []);
      await message('one');
      assert.equal((await info('one')).unread, true);
      assert.deepEqual(await list('unread=true'), ['one']);
      assert.deepEqual(await list('unread=false'), []);
      // An id from the future means all events, and one from the past changes nothing.
      await patch('one', { seen_event_id: Number.MAX_SAFE_INTEGER });
      await patch('one', { seen_event_id: 0 });
      assert.equal((await info('one')).unread, false);
      await patch('one', { seen_event_id: null });
      assert.deepEqual([(await info('one')).unread, (await info('one')).seen_event_id], [true, null]);
    });

    it('stays read when it is stopped or started, which leaves nothing to read', async (t) => {
      const { service, create, patch, info, stop } = await open(kind, t);
      await create('one');
      await patch('one', { seen_event_id: (await info('one')).last_event_id });
      await stop('one');
      const stopped = await info('one');
      assert.deepEqual([stopped.unread, stopped.seen_event_id], [false, stopped.last_event_id]);
      await service.ask(`${path}/one/start`, { method: 'POST' });
      assert.equal((await info('one')).unread, false);
      await create('two');
      await stop('two');
      assert.equal((await info('two')).unread, true);
    });

    it('counts conversations of older versions as read', async (t) => {
      const { service, create, info, list, message } = await open(kind, t);
      await create('old');
      await inspect(
        service.storage,
        kind === 'sqlite'
          ? 'update conversations set seen = next_event returning key'
          : 'update conversations set seen = null returning key',
      );
      assert.equal((await info('old')).unread, false);
      assert.deepEqual(await list('unread=false'), ['old']);
      await message('old');
      assert.equal((await info('old')).unread, kind === 'sqlite');
    });

    it('refuses other values, 422, and unknown conversations, 404', async (t) => {
      const { create, patch } = await open(kind, t);
      await create('one');
      for (const [field, value] of [
        ['pinned', null],
        ['archived', 'yes'],
        ['seen_event_id', -1],
        ['seen_event_id', 1.5],
        ['seen_event_id', '1'],
      ] as const) {
        const { status, body } = await patch('one', { [field]: value });
        assert.equal(status, 422);
        assert.equal(body.details[0].path, field);
      }
      assert.equal((await patch('none', { pinned: true })).status, 404);
    });

    it('sends each change to subscribers, and none if nothing changes', async (t) => {
      const { service, create, patch, info } = await open(kind, t);
      const stream = await openStream(service.url, '/api/events/stream', { key: service.key });
      t.after(() => stream.cut());
      await create('one');
      await patch('one', { pinned: true });
      await patch('one', { pinned: true });
      await patch('one', { seen_event_id: (await info('one')).last_event_id });
      await patch('one', { seen_event_id: 0 });
      await patch('one', { title: 'Both', archived: true });
      await patch('one', { seen_event_id: null });
      await untilFrames(stream, 5);
      const changes = stream.frames().map(({ data }) => JSON.parse(data));
      assert.deepEqual(
        changes.map(({ title, pinned, archived, unread }) => [title, pinned, archived, unread]),
        [
          ['Hello from one', false, false, true],
          ['Hello from one', true, false, true],
          ['Hello from one', true, false, false],
          ['Both', true, true, false],
          ['Both', true, true, true],
        ],
      );
    });
  });
