import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { startService, type TestService } from '../../test/support/service.ts';

const path = '/api/conversations';
const largeBytes = 400_000;
/** The bound of a page, with room for the last event, which may exceed it. */
const pageBytesMax = 1_048_576 + largeBytes + 1_000;

interface Event {
  readonly id: number;
  readonly message: string;
}

interface Page {
  readonly events: Event[];
  readonly has_more: boolean;
}

function replay(count: number, words: (i: number) => string): string {
  const events = Array.from({ length: count }, (_, i) => ({
    action: 'message',
    source: 'agent',
    message: words(i),
    args: {},
  }));
  return JSON.stringify(events);
}

for (const kind of databaseKinds) {
  describe(`the log of a conversation on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
      // Each log ends with the state event that every creation adds.
      for (const [conversation_id, replay_json] of [
        ['eleven', replay(10, (i) => `m${i}`)],
        ['many', replay(249, (i) => `m${i}`)],
        ['large', replay(12, (i) => String(i).repeat(largeBytes / String(i).length))],
        ['huge', replay(3, () => 'ü'.repeat(1_200_000))],
      ])
        assert.equal((await service.ask(path, { json: { conversation_id, replay_json } })).status, 200);
    });
    after(() => service.stop());

    const get = async (id: string, query: string): Promise<Page> => {
      const { status, body, text } = await service.ask(`${path}/${id}/events?${query}`);
      assert.equal(status, 200, text.slice(0, 200));
      return body;
    };
    const trajectoryOf = async (id: string): Promise<Event[]> =>
      (await service.ask(`${path}/${id}/trajectory`)).body.trajectory;

    /** Reads all pages as older clients do: each page starts at the id after the last one. */
    async function walk(id: string, limit: number, reverse: boolean): Promise<Event[]> {
      const seen: Event[] = [];
      for (let query = ''; ; ) {
        const { events, has_more: more } = await get(id, `limit=${limit}&reverse=${reverse}${query}`);
        seen.push(...events);
        const last = events.at(-1)?.id ?? 0;
        if (!more) return seen;
        assert.ok(events.length > 0, 'a page with has_more is not empty');
        query = reverse ? `&end_id=${last - 1}` : `&start_id=${last + 1}`;
      }
    }

    describe('GET …/events', () => {
      const range = (from: number, to: number): number[] =>
        from <= to
          ? Array.from({ length: to - from + 1 }, (_, i) => from + i)
          : Array.from({ length: from - to + 1 }, (_, i) => from - i);

      const pages: readonly [query: string, ids: readonly number[], more: boolean][] = [
        ['', range(0, 10), false],
        ['limit=11', range(0, 10), false],
        ['limit=10', range(0, 9), true],
        ['limit=1', [0], true],
        ['limit=100', range(0, 10), false],
        ['start_id=5&limit=6', range(5, 10), false],
        ['start_id=5&limit=5', range(5, 9), true],
        ['start_id=10', [10], false],
        ['start_id=11', [], false],
        ['start_id=999999999999999', [], false],
        ['end_id=4', range(0, 4), false],
        ['end_id=4&limit=5', range(0, 4), false],
        ['end_id=4&limit=4', range(0, 3), true],
        ['end_id=999999999999999', range(0, 10), false],
        ['start_id=3&end_id=3', [3], false],
        ['start_id=4&end_id=3', [], false],
        ['reverse=false&limit=2', [0, 1], true],
        ['reverse=true', range(10, 0), false],
        ['reverse=true&limit=11', range(10, 0), false],
        ['reverse=true&limit=10', range(10, 1), true],
        ['reverse=true&start_id=3&limit=8', range(10, 3), false],
        ['reverse=true&start_id=3&limit=7', range(10, 4), true],
        ['reverse=true&end_id=5&limit=3', [5, 4, 3], true],
        ['reverse=true&start_id=3&end_id=5&limit=3', [5, 4, 3], false],
      ];

      it('returns the requested ids, and whether there are more', async () => {
        for (const [query, ids, more] of pages) {
          const { events, has_more } = await get('eleven', query);
          assert.deepEqual([events.map(({ id }) => id), has_more], [ids, more], query);
        }
      });

      it('returns 20 events by default', async () => {
        const { events, has_more } = await get('many', '');
        assert.deepEqual([events.length, has_more], [20, true]);
      });

      it('pages through the whole log in either direction, with any limit', async () => {
        const all = await trajectoryOf('many');
        assert.deepEqual(
          all.map(({ id }) => id),
          range(0, 249),
        );
        for (const limit of [7, 50, 100]) {
          assert.deepEqual(await walk('many', limit, false), all);
          assert.deepEqual(await walk('many', limit, true), all.toReversed());
        }
      });

      it('refuses a limit that is not 1 to 100, 400 bad_limit', async () => {
        for (const limit of ['101', '0', '-1', '1.5', 'abc', '', '1e1', '+5', '٣']) {
          const { status, body } = await service.ask(
            `${path}/eleven/events?limit=${encodeURIComponent(limit)}`,
          );
          assert.deepEqual([status, body.code], [400, 'bad_limit'], limit);
        }
      });

      it('ignores unknown parameters, and accepts booleans in every form that clients send', async () => {
        const first = async (query: string) =>
          (await service.ask(`${path}/eleven/events?limit=1&include_sub_conversations=true&${query}`)).body
            .events[0].id;
        for (const yes of ['true', 'True', '1', 'yes']) assert.equal(await first(`reverse=${yes}`), 10, yes);
        for (const no of ['false', 'False', '0', 'no']) assert.equal(await first(`reverse=${no}`), 0, no);
      });

      it('refuses invalid ids and names them, 422', async () => {
        for (const query of ['start_id=-1', 'start_id=abc', 'end_id=1.5', 'reverse=maybe', 'end_id=']) {
          const { status, body } = await service.ask(`${path}/eleven/events?${query}`);
          assert.deepEqual([status, body.details[0].path], [422, query.split('=')[0]], query);
          if (query === 'reverse=maybe') assert.equal(body.details[0].message, 'must be true or false');
        }
      });
    });

    describe('a log of large events', () => {
      it('comes in pages of bounded size with each event once', async () => {
        for (const reverse of [false, true]) {
          const { text, body } = await service.ask(`${path}/large/events?limit=100&reverse=${reverse}`);
          assert.ok(text.length < pageBytesMax, `${text.length} bytes`);
          assert.deepEqual([body.events.length > 1, body.has_more], [true, true]);
        }
        const all = await trajectoryOf('large');
        assert.equal(all.length, 13);
        assert.deepEqual(await walk('large', 100, false), all);
        assert.deepEqual(await walk('large', 100, true), all.toReversed());
      });

      it('has a page of its own for an event that is larger than a page', async () => {
        const { events, has_more } = await get('huge', 'start_id=1&limit=2');
        assert.deepEqual([events.map(({ id }) => id), has_more], [[1], true]);
        assert.deepEqual(
          (await walk('huge', 5, false)).map(({ id }) => id),
          [0, 1, 2, 3],
        );
      });
    });

    describe('GET …/trajectory', () => {
      it('contains the events of all pages, the replayed ones first', async () => {
        const all = await trajectoryOf('eleven');
        assert.deepEqual(all, (await get('eleven', 'limit=100')).events);
        assert.deepEqual(
          all.map(({ message }) => message),
          [...Array.from({ length: 10 }, (_, i) => `m${i}`), ''],
        );
      });

      it('is JSON that must not be cached', async () => {
        const { headers } = await service.ask(`${path}/eleven/trajectory`);
        assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
        assert.equal(headers.get('cache-control'), 'no-store');
      });
    });
  });
}
