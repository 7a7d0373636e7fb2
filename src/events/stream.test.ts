import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConnection } from '../../test/support/connection.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import {
  openStream,
  type Stream,
  type StreamOptions,
  untilClosed,
  untilFrames,
} from '../../test/support/stream.ts';
import { until, watch } from '../../test/support/until.ts';

const path = '/api/conversations';
const changesPath = '/api/events/stream';

function idsOf(stream: Stream): string[] {
  return stream.frames().map(({ id }) => id ?? 'none');
}

for (const kind of databaseKinds) {
  describe(`GET …/events/stream on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const open = (id: string, query = '', options: Partial<StreamOptions> = {}): Promise<Stream> =>
      openStream(service.url, `${path}/${id}/events/stream${query}`, { key: service.key, ...options });
    const say = async (id: string, message: string): Promise<void> => {
      const { status } = await service.ask(`${path}/${id}/message`, { json: { message } });
      assert.equal(status, 200);
    };

    /** Creates a conversation whose log has the ids from 0 to `last`. */
    async function create(last: number): Promise<string> {
      const events = Array.from({ length: last }, (_, i) => ({ action: 'message', message: `m${i}` }));
      const { body } = await service.ask(path, { json: { replay_json: JSON.stringify(events) } });
      return body.conversation_id;
    }

    async function makeKey(user?: string): Promise<{ id: string; key: string }> {
      return (await service.ask('/api/keys', { json: { name: 'k', user } })).body;
    }

    async function connections(id: string): Promise<number> {
      return (await service.ask(`${path}/${id}`)).body.num_connections;
    }

    it('sends the stored events and then new ones, the same events as the pages', async () => {
      const id = await create(3);
      const stream = await open(id);
      await untilFrames(stream, 4);
      await say(id, 'live: data: \n\n "words" \u2028');
      await service.ask(`${path}/${id}/stop`, { method: 'POST' });
      const frames = await untilFrames(stream, 6);
      assert.deepEqual(idsOf(stream), ['0', '1', '2', '3', '4', '5']);
      const { body } = await service.ask(`${path}/${id}/events?limit=100`);
      assert.deepEqual(
        frames.map(({ data }) => JSON.parse(data)),
        body.events,
      );
      stream.cut();
    });

    it('sends a long log completely and once', async () => {
      const id = await create(1_050);
      const stream = await open(id);
      const frames = await untilFrames(stream, 1_051);
      assert.deepEqual(
        frames.map((frame) => Number(frame.id)),
        Array.from({ length: 1_051 }, (_, i) => i),
      );
      stream.cut();
    });

    it('has headers that forbid caching and buffering, 200', async () => {
      const stream = await open(await create(0));
      const { headers } = stream;
      assert.equal(stream.status, 200);
      assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-accel-buffering'], 'no');
      assert.match(String(headers['x-request-id']), /./);
      await untilFrames(stream, 1);
      assert.match(stream.text(), /^retry: \d+\n/);
      stream.cut();
    });

    it('resumes after the cursor, and prefers Last-Event-ID to ?after=', async () => {
      const id = await create(5);
      const cases: readonly [query: string, lastEventId: string | undefined, first: number][] = [
        ['', undefined, 0],
        ['?after=-1', undefined, 0],
        ['?after=0', undefined, 1],
        ['?after=4', undefined, 5],
        ['?after=0', '3', 4],
        ['?after=4', '-1', 0],
        ['', '2', 3],
      ];
      for (const [query, lastEventId, first] of cases) {
        const stream = await open(id, query, lastEventId === undefined ? {} : { lastEventId });
        const frames = await untilFrames(stream, 6 - first);
        assert.deepEqual(
          [Number(frames[0]?.id), frames.length],
          [first, 6 - first],
          `${query} ${lastEventId}`,
        );
        stream.cut();
      }
    });

    it('sends the next event if the cursor is at the end or beyond it', async () => {
      const id = await create(2);
      const streams = await Promise.all(
        ['2', '3', '999999999999999'].map((after) => open(id, `?after=${after}`)),
      );
      await say(id, 'next');
      for (const stream of streams) {
        await untilFrames(stream, 1);
        assert.deepEqual(idsOf(stream), ['3']);
        stream.cut();
      }
    });

    it('refuses an invalid cursor, 422, and names the field', async () => {
      const id = await create(0);
      for (const after of ['abc', '-2', '1.5', '9'.repeat(16), '', '1 ', '0x1']) {
        const asked = `${path}/${id}/events/stream`;
        const inQuery = await service.ask(`${asked}?after=${encodeURIComponent(after)}`);
        assert.deepEqual([inQuery.status, inQuery.body.details[0].path], [422, 'after'], after);
      }
      const headers = { 'last-event-id': 'abc' };
      assert.equal((await service.ask(`${path}/${id}/events/stream?after=0`, { headers })).status, 422);
    });

    it('answers HEAD with its headers and does not subscribe, 200', async () => {
      const id = await create(0);
      for (const asked of [`${path}/${id}/events/stream`, changesPath]) {
        const { status, headers } = await service.ask(asked, { method: 'HEAD' });
        assert.deepEqual([status, headers.get('content-type')], [200, 'text/event-stream; charset=utf-8']);
      }
      assert.equal(await connections(id), 0);
    });

    it('counts its subscribers, and removes those that disconnect', async () => {
      const id = await create(0);
      const streams = [await open(id), await open(id)];
      assert.equal(await connections(id), 2);
      for (const stream of streams) stream.cut();
      await until('there are no subscribers', async () => (await connections(id)) === 0);
    });

    it('sends every subscriber every event after its own cursor', async () => {
      const id = await create(0);
      const streams: Stream[] = [];
      for (let i = 0; i < 10; i++) {
        streams.push(await open(id, `?after=${i - 1}`));
        await say(id, `m${i}`);
      }
      for (const [first, stream] of streams.entries()) {
        await untilFrames(stream, 11 - first);
        assert.deepEqual(
          idsOf(stream).map(Number),
          Array.from({ length: 11 - first }, (_, n) => first + n),
        );
        stream.cut();
      }
    });

    it('ends when the conversation is deleted, and does not continue with a new one of the same id', async () => {
      const id = await create(1);
      const stream = await open(id);
      await untilFrames(stream, 2);
      await service.ask(`${path}/${id}`, { method: 'DELETE' });
      await untilClosed(stream);
      assert.ok(stream.complete());
      await service.ask(path, { json: { conversation_id: id } });
      const again = await open(id, '', { lastEventId: '1' });
      await say(id, 'second life');
      const [frame] = await untilFrames(again, 1);
      assert.equal(frame?.id, '1');
      again.cut();
    });

    it('ends with its conversation even if the client does not read, and shows no other conversation', async () => {
      const theirs = await makeKey(`bob-${kind}`);
      const id = await create(0);
      const image_urls = [`data:image/png;base64,${'A'.repeat(1_000_000)}`];
      for (let i = 0; i < 12; i++)
        await service.ask(`${path}/${id}/message`, { json: { message: 'look', image_urls } });
      const stream = await open(id);
      stream.pause();
      await until('it is behind', async () => (await connections(id)) === 1);
      await service.ask(`${path}/${id}`, { method: 'DELETE' });
      const secrets = Array.from({ length: 60 }, () => ({ action: 'message', message: 'a secret of bob' }));
      await service.ask(path, { key: theirs.key, json: { replay_json: JSON.stringify(secrets) } });
      stream.resume();
      await untilClosed(stream);
      assert.ok(!stream.text().includes('a secret of bob'));
    });

    it('ends when its API key is revoked or expires, but not with another one', async () => {
      const id = await create(0);
      const [revoked, expired, good] = [await makeKey(), await makeKey(), await makeKey()];
      const openBoth = ({ key }: { key: string }) =>
        Promise.all([open(id, '', { key }), openStream(service.url, changesPath, { key })]);
      const ending = [...(await openBoth(revoked)), ...(await openBoth(expired))];
      const staying = await openBoth(good);
      await service.ask(`/api/keys/${revoked.id}`, { method: 'DELETE' });
      await inspect(service.storage, `update keys set expires_at = 1 where id = '${expired.id}'`);
      for (const stream of ending) {
        await untilClosed(stream);
        assert.ok(stream.complete());
      }
      for (const { key } of [revoked, expired])
        assert.equal((await service.ask(`${path}/${id}/events/stream`, { key })).status, 401);
      await say(id, 'still there');
      await untilFrames(staying[0], 2);
      for (const stream of staying) {
        assert.ok(!stream.closed());
        stream.cut();
      }
    });
  });

  describe(`a connection with a stream on ${kind}`, () => {
    it('does not carry a second stream, nor the error of the next request', async (t) => {
      const service = await startService({ kind }, t);
      const id = (await service.ask(path, { json: {} })).body.conversation_id;
      const connectionCount = async () => (await service.ask(`${path}/${id}`)).body.num_connections;
      const host = new URL(service.url).host;
      const request = `GET ${path}/${id}/events/stream HTTP/1.1\r\nHost: ${host}\r\nX-Session-API-Key: ${service.key}\r\n\r\n`;
      const connection = await openConnection(service.url);
      t.after(connection.close);
      connection.send(request.repeat(50));
      await until('the first stream', () => connection.received().includes('"loading"'));
      assert.equal(await connectionCount(), 1);
      connection.send('rubbish\r\n\r\n');
      await until('the connection closes', () => connection.closed());
      assert.doesNotMatch(connection.received(), /HTTP\/1.1 4/);
      await until('there are no subscribers', async () => (await connectionCount()) === 0);
    });
  });

  describe(`stopping a service on ${kind}`, () => {
    it('ends its streams without waiting for their clients', async (t) => {
      const storage = await createStorage(kind);
      t.after(storage.remove);
      const service = await startService({ storage });
      const { body } = await service.ask(path, { json: {} });
      const { key, url } = service;
      const streams = [
        await openStream(url, `${path}/${body.conversation_id}/events/stream`, { key }),
        await openStream(url, changesPath, { key }),
      ];
      const stopped = watch(service.stop());
      for (const stream of streams) {
        await untilClosed(stream);
        // A connection that had to be cut would not be.
        assert.ok(stream.complete());
      }
      await until('it has stopped', () => stopped.settled());
    });
  });
}
