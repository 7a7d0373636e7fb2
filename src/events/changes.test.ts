import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { openStream, type Stream, untilFrames } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';

const path = '/api/conversations';
const changesPath = '/api/events/stream';
const dayMs = 24 * 60 * 60 * 1_000;

interface Change {
  readonly conversation_id: string;
  readonly status: string | null;
  readonly title: string;
  readonly stop_reason: { readonly code: string } | null;
  readonly at: string;
}

function changesOf(stream: Stream): Change[] {
  return stream
    .frames()
    .filter(({ event }) => event === 'message')
    .map(({ data }) => JSON.parse(data));
}

for (const kind of databaseKinds) {
  describe(`GET /api/events/stream on ${kind}`, () => {
    let service: TestService;
    /** The API key of a user that only this test has. */
    let key: string;
    let users = 0;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    async function newUser(): Promise<string> {
      users += 1;
      const { body } = await service.ask('/api/keys', { json: { name: 'k', user: `user-${users}` } });
      return body.key;
    }

    const open = (lastEventId?: string, as = key): Promise<Stream> =>
      openStream(service.url, changesPath, {
        key: as,
        ...(lastEventId === undefined ? {} : { lastEventId }),
      });
    const create = async (as = key): Promise<string> =>
      (await service.ask(path, { json: {}, key: as })).body.conversation_id;
    /**
     * Creates a conversation and waits until its change was streamed, so that new streams begin after it. On PostgreSQL
     * that takes as long as any older transaction of the server, even one of another database.
     */
    const createStreamed = async (): Promise<string> => {
      const stream = await open();
      const id = await create();
      await untilFrames(stream, 1);
      stream.cut();
      return id;
    };
    const rename = (id: string, title: string, as = key) =>
      service.ask(`${path}/${id}`, { method: 'PATCH', json: { title }, key: as });

    /** Renames the conversation several times, and returns the titles. */
    async function renameTimes(id: string, count: number, prefix: string): Promise<string[]> {
      const titles = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
      for (const title of titles) assert.equal((await rename(id, title)).status, 200);
      return titles;
    }

    it('sends each change of status and title, and the deletion, in order', async () => {
      key = await newUser();
      const stream = await open();
      const id = await create();
      await service.ask(`${path}/${id}/stop`, { method: 'POST', key });
      await rename(id, 'named');
      await service.ask(`${path}/${id}/message`, { json: { message: 'wake' }, key });
      await service.ask(`${path}/${id}/message`, { json: { message: 'no change' }, key });
      await service.ask(`${path}/${id}`, { method: 'DELETE', key });
      await untilFrames(stream, 5);
      const changes = changesOf(stream);
      const title = `Conversation ${id.slice(0, 5)}`;
      assert.deepEqual(
        changes.map((change) => [change.status, change.title, change.stop_reason?.code ?? null]),
        [
          ['STARTING', title, null],
          ['STOPPED', title, 'user'],
          ['STOPPED', 'named', 'user'],
          ['STARTING', 'named', null],
          [null, 'named', null],
        ],
      );
      assert.ok(changes.every((change) => change.conversation_id === id));
      assert.ok(changes.every((change) => !Number.isNaN(Date.parse(change.at))));
      stream.cut();
    });

    it('sends new changes only, not earlier ones', async () => {
      key = await newUser();
      const id = await createStreamed();
      const stream = await open();
      await rename(id, 'new');
      await untilFrames(stream, 1);
      assert.deepEqual(
        changesOf(stream).map(({ title }) => title),
        ['new'],
      );
      stream.cut();
    });

    it('resumes after any id that it has sent, without gaps or repetitions', async () => {
      key = await newUser();
      const id = await createStreamed();
      const first = await open();
      const titles = await renameTimes(id, 8, 'a');
      const seen = await untilFrames(first, 8);
      first.cut();
      titles.push(...(await renameTimes(id, 4, 'b')));
      for (const [i, { id: cursor }] of seen.entries()) {
        const again = await open(cursor);
        await untilFrames(again, titles.length - i - 1);
        assert.deepEqual(
          changesOf(again).map(({ title }) => title),
          titles.slice(i + 1),
        );
        again.cut();
      }
    });

    it('sends more changes than fit in one read, each once, in the same order to all', async () => {
      key = await newUser();
      const first = await open();
      const start = await until('the cursor', () => first.lastId());
      const ids = await Promise.all(Array.from({ length: 120 }, () => create()));
      const again = await open(start);
      const [seen, seenAgain] = [await untilFrames(first, ids.length), await untilFrames(again, ids.length)];
      assert.deepEqual(seenAgain, seen);
      assert.deepEqual(
        changesOf(first)
          .map((change) => change.conversation_id)
          .toSorted(),
        ids.toSorted(),
      );
      for (const stream of [first, again]) stream.cut();
    });

    it('sends its cursor before the first change, so that a client that has received none can resume', async () => {
      key = await newUser();
      const id = await createStreamed();
      const first = await open();
      const cursor = await until('the cursor', () => first.lastId());
      first.cut();
      await rename(id, 'while nobody looked');
      const again = await open(cursor);
      await untilFrames(again, 1);
      assert.deepEqual(
        changesOf(again).map(({ title }) => title),
        ['while nobody looked'],
      );
      again.cut();
    });

    it('never shows the changes of other users', async () => {
      key = await newUser();
      const other = await newUser();
      const [mine, theirs] = [await open(), await open(undefined, other)];
      const id = await create(other);
      await rename(id, 'theirs', other);
      await service.ask(`${path}/${id}`, { method: 'DELETE', key: other });
      const own = await create();
      await untilFrames(theirs, 3);
      await untilFrames(mine, 1);
      assert.deepEqual(
        changesOf(mine).map((change) => change.conversation_id),
        [own],
      );
      assert.equal(changesOf(theirs).length, 3);
      for (const stream of [mine, theirs]) stream.cut();
    });

    it('sends reset once for a cursor older than 7 days, and then new changes', async () => {
      key = await newUser();
      const id = await createStreamed();
      const old = await open(`${Date.now() - 7 * dayMs - 60_000}.0.1`);
      const [reset] = await untilFrames(old, 1);
      assert.deepEqual([reset?.event, reset?.data], ['reset', '{}']);
      const cursor = await until('the cursor', () => old.lastId());
      old.cut();
      await rename(id, 'new');
      const again = await open(cursor);
      const [change] = await untilFrames(again, 1);
      assert.equal(change?.event, 'message');
      assert.equal(changesOf(again)[0]?.title, 'new');
      again.cut();
    });

    it('accepts a cursor that is almost 7 days old', async () => {
      key = await newUser();
      const id = await create();
      const stream = await open(`${Date.now() - 7 * dayMs + 60_000}.0.1`);
      const [change] = await untilFrames(stream, 1);
      assert.equal(change?.event, 'message');
      assert.equal(changesOf(stream)[0]?.conversation_id, id);
      stream.cut();
    });

    it('treats a cursor in the future as now, and affects no other subscriber', async () => {
      key = await newUser();
      const id = await createStreamed();
      const streams = [
        await open(`${Date.now() + dayMs}.9999999999.999999999999999`),
        await open('999999999999999.99999999999999999999.999999999999999'),
        await open(),
      ];
      await rename(id, 'now');
      for (const stream of streams) {
        await untilFrames(stream, 1);
        assert.deepEqual(
          changesOf(stream).map(({ title }) => title),
          ['now'],
        );
        stream.cut();
      }
    });

    it('continues for all subscribers after the changes between two of them were deleted', async () => {
      key = await newUser();
      const id = await createStreamed();
      const first = await open();
      await rename(id, 'forgotten');
      const [forgotten] = await untilFrames(first, 1);
      await inspect(service.storage, "delete from changes where json like '%forgotten%'");
      const streams = [first, await open(), await open(forgotten?.id)];
      await rename(id, 'kept');
      for (const stream of streams) {
        await until('the change', () => changesOf(stream).at(-1)?.title === 'kept');
        stream.cut();
      }
    });

    it('refuses an invalid cursor, 422, and names the field', async () => {
      key = await newUser();
      for (const after of ['abc', '', '1', '1.2', '1.2.3.4', '-1.0.0', '1.a.1', `${'9'.repeat(16)}.0.0`]) {
        const { status, body } = await service.ask(`${changesPath}?after=${encodeURIComponent(after)}`, {
          key,
        });
        assert.deepEqual([status, body.details[0].path], [422, 'after'], after);
      }
    });
  });
}
