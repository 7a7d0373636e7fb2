import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { startService, type TestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import type { DatabaseKind } from '../../db/transaction.ts';

const waitMs = 60_000;

async function create(service: TestService, id: string, message: string, key = service.key): Promise<void> {
  const json = { conversation_id: id, initial_user_msg: message };
  const { status, text } = await service.ask('/api/conversations', { json, key });
  assert.equal(status, 200, text);
}

function search(service: TestService, q: string, more = '') {
  return service.ask(`/api/search?q=${encodeURIComponent(q)}${more}`);
}

async function find(service: TestService, q: string): Promise<string[]> {
  const { status, body, text } = await search(service, q);
  assert.equal(status, 200, text);
  return body.results.map((result: { conversation_id: string }) => result.conversation_id);
}

/** A service in which all of this has been said and indexed. */
async function open(kind: DatabaseKind, t: TestContext, messages: Record<string, string>) {
  const service = await startService({ kind }, t);
  for (const [id, message] of Object.entries(messages)) await create(service, id, message);
  await create(service, 'last', 'lastmarker');
  await until(
    'the index',
    async () => {
      const found = await Promise.all(Object.keys(messages).map((id) => find(service, `${id}`)));
      return (await find(service, 'lastmarker')).length === 1 && found.every((ids) => ids.length > 0);
    },
    waitMs,
  );
  return service;
}

for (const kind of databaseKinds)
  describe(`GET /api/search on ${kind}`, () => {
    it('returns where the words are, newest conversation first, 200', async (t) => {
      const service = await open(kind, t, {
        one: 'one: The Parser fails on empty lines.',
        two: 'two: a parser again',
      });
      const { body, status } = await search(service, 'parser');
      assert.equal(status, 200);
      assert.deepEqual(
        body.results.map((result: { conversation_id: string }) => result.conversation_id),
        ['two', 'one'],
      );
      const [, one] = body.results;
      assert.equal(one.matches[0].snippet, 'one: The Parser fails on empty lines.');
      assert.deepEqual(one.matches[0].ranges, [{ start: 9, end: 15 }]);
      assert.equal(one.matches[0].source, 'user');
      assert.equal(one.matches[0].event_id, 0);
      assert.deepEqual(one.title_ranges, [{ start: 9, end: 15 }]);
      assert.equal(one.more_matches, false);
      const matches = await service.ask('/api/conversations/one/search?q=empty+lines');
      assert.deepEqual(matches.body.matches[0].ranges, [
        { start: 25, end: 30 },
        { start: 31, end: 36 },
      ]);
    });

    it('matches words, phrases and prefixes in any script', async (t) => {
      const service = await open(kind, t, {
        latin: 'latin Crème brûlée, naïve façade; path src/db/tables.ts and snake_case',
        chinese: 'chinese 请修复数据库连接错误，用SQLite数据库。',
        korean: 'korean 데이터베이스를 고쳐 주세요',
        japanese: 'japanese パーサーのエラーを直す',
        thai: 'thai แก้ไขข้อผิดพลาด',
        russian: 'russian Исправь ошибку в разборе',
        emoji: 'emoji 🎉 party',
      });
      const cases: Record<string, string[]> = {
        'creme BRULEE': ['latin'],
        Crème: ['latin'],
        '"brulee naive"': ['latin'],
        '"naive brulee"': [],
        'tabl*': ['latin'],
        tabl: [],
        'tables.ts': ['latin'],
        'src/db/tables.ts': ['latin'],
        snake_case: ['latin'],
        数据库: ['chinese'],
        数据: ['chinese'],
        库: ['chinese'],
        库数: [],
        sqlite数据: ['chinese'],
        '连接 错误': ['chinese'],
        데이터베이스: ['korean'],
        エラー: ['japanese'],
        ข้อผิด: ['thai'],
        ОШИБКУ: ['russian'],
        'ошиб*': ['russian'],
        '"party': ['emoji'],
      };
      for (const [q, expected] of Object.entries(cases))
        assert.deepEqual(await find(service, q), expected, q);
    });

    it('pages through everything once', async (t) => {
      const ids = Array.from({ length: 7 }, (_, i) => `n${i}`);
      const service = await open(kind, t, Object.fromEntries(ids.map((id) => [id, `${id} common word`])));
      const found: string[] = [];
      let next: string | null = null;
      do {
        const page: string = next === null ? '' : `&page_id=${encodeURIComponent(next)}`;
        const { body } = await search(service, 'common', `&limit=2${page}`);
        assert.ok(body.results.length <= 2);
        found.push(...body.results.map((result: { conversation_id: string }) => result.conversation_id));
        next = body.next_page_id;
      } while (next !== null);
      assert.deepEqual(found, ids.toReversed());
    });

    it('answers any text with 200 or 422', async (t) => {
      const service = await open(kind, t, { one: 'one word or other' });
      const hostile = [
        '"',
        '*',
        '""',
        "'",
        "' or 1=1 --",
        "'; drop table events; --",
        'a AND',
        'NEAR(one word)',
        'owner : u1',
        'words : one',
        'one OR other',
        'NOT one',
        '^one',
        '{owner words}: one',
        'one + word',
        '-one',
        "one' & 'word",
        'one:*',
        'one <-> word',
        '!one',
        '((((((',
        '\\',
        '\\\\*',
        '%_%',
        '~1',
        '$1',
        '?',
        'a*',
        'o* w*',
        '*'.repeat(1_000),
        'a '.repeat(512),
        '"a '.repeat(300),
        'a'.repeat(1_024),
        '数'.repeat(60),
        '\u0301\u0301',
        '\u202e\ufeff\u200b',
        '½ ① ﷺ ㎒ İ ŉ ǰ',
        '🎉'.repeat(200),
      ];
      for (const q of hostile) {
        const { status, text } = await search(service, q);
        assert.ok(status === 200 || status === 422, `${q}: ${text}`);
      }
      for (const q of ['', '   ', '!!!', '"', '*', 'x '.repeat(1_000), `a${'\0'}`])
        assert.equal((await search(service, q)).status, 422, JSON.stringify(q));
      const words = Array.from({ length: 65 }, (_, i) => `w${i}`).join(' ');
      assert.equal((await search(service, words)).body.details[0].path, 'q');
      assert.equal((await service.ask('/api/search')).status, 422);
      assert.equal((await search(service, 'one', '&limit=0')).body.details[0].path, 'limit');
      for (const page of ['x', Buffer.from('s9999999999').toString('base64url'), '%00'])
        assert.equal((await search(service, 'one', `&page_id=${page}`)).body.details[0].path, 'page_id');
      assert.equal((await service.ask('/api/conversations/none/search?q=one')).status, 404);
      assert.deepEqual(await find(service, 'one'), ['one']);
    });

    it('finds words in large texts, and cuts its snippets', async (t) => {
      const filler = 'lorem ipsum '.repeat(7_000);
      const service = await open(kind, t, { big: `big ${filler} needle ${'x'.repeat(50_000)} 针` });
      const { body } = await search(service, 'needle');
      const [{ snippet, ranges }] = body.results[0].matches;
      assert.ok(snippet.length <= 240);
      assert.equal(snippet.slice(ranges[0].start, ranges[0].end), 'needle');
    });

    it('shows nothing of other users, 403 without the scope', async (t) => {
      const service = await open(kind, t, { mine: 'mine secretword' });
      const other = await service.ask('/api/keys', { json: { name: 'grace', user: 'grace' } });
      const { body } = await service.ask('/api/search?q=secretword', { key: other.body.key });
      assert.deepEqual(body, { results: [], next_page_id: null });
      const own = await service.ask('/api/conversations/mine');
      const alone = own.body.session_api_key;
      assert.equal((await service.ask('/api/search?q=secretword', { key: alone })).status, 403);
      const inside = await service.ask('/api/conversations/mine/search?q=secretword', { key: alone });
      assert.equal(inside.body.matches.length, 1);
      const narrow = await service.ask('/api/keys', { json: { name: 'n', scopes: ['settings:read'] } });
      assert.equal((await service.ask('/api/search?q=secretword', { key: narrow.body.key })).status, 403);
    });
  });
