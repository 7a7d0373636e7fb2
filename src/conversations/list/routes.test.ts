import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { startService, type TestService } from '../../../test/support/service.ts';
import type { ConversationInfo } from './schema.ts';

const path = '/api/conversations';
const secretValue = 'value-that-must-not-come-back';

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

for (const kind of databaseKinds) {
  describe(`GET /api/conversations on ${kind}`, () => {
    let service: TestService;
    let users = 0;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    /** A user with an empty list. */
    async function newUser() {
      users += 1;
      const { body } = await service.ask('/api/keys', { json: { name: 'k', user: `user-${users}` } });
      const key: string = body.key;
      const create = async (json: Record<string, unknown> = {}): Promise<string> =>
        (await service.ask(path, { json, key })).body.conversation_id;
      const page = async (query: string) => {
        const { status, body: list, text } = await service.ask(`${path}?${query}`, { key });
        assert.equal(status, 200, text);
        return list as { results: ConversationInfo[]; next_page_id: string | null };
      };
      /** The ids of all pages; `between` happens after each of them. */
      const walk = async (query: string, between: () => Promise<unknown> = async () => {}) => {
        const seen: string[] = [];
        for (let pageId = ''; ; ) {
          const { results, next_page_id: next } = await page(`${query}${pageId}`);
          seen.push(...results.map((info) => info.conversation_id));
          if (next === null) return seen;
          await between();
          pageId = `&page_id=${next}`;
        }
      };
      return { key, create, page, walk };
    }

    it('is empty at first', async () => {
      const { page } = await newUser();
      assert.deepEqual(await page(''), { results: [], next_page_id: null });
    });

    it('gives the newest first, 20 where no limit is asked for', async () => {
      const { create, page } = await newUser();
      const ids: string[] = [];
      for (let i = 0; i < 23; i++) ids.push(await create());
      const first = await page('');
      assert.deepEqual(
        first.results.map((info) => info.conversation_id),
        ids.toReversed().slice(0, 20),
      );
      const second = await page(`page_id=${first.next_page_id}`);
      assert.deepEqual(
        [second.results.map((info) => info.conversation_id), second.next_page_id],
        [ids.toReversed().slice(20), null],
      );
    });

    it('shows each exactly once, whatever the limit, also of those made in one moment', async () => {
      const { create, walk } = await newUser();
      const ids = await Promise.all(Array.from({ length: 12 }, () => create()));
      for (const limit of [1, 2, 11, 12, 13, 1_000]) {
        const seen = await walk(`limit=${limit}`);
        assert.deepEqual([seen.length, seen.toSorted()], [12, ids.toSorted()], `limit ${limit}`);
      }
      // Older clients order by time alone.
      await inspect(
        service.storage,
        `update conversations set created_at = 1 where id in ('${ids.join("', '")}')`,
      );
      for (const limit of [1, 5]) assert.deepEqual((await walk(`limit=${limit}`)).toSorted(), ids.toSorted());
    });

    it('shows those of before exactly once while new ones are made and old ones go', async () => {
      const { key, create, walk } = await newUser();
      const ids: string[] = [];
      for (let i = 0; i < 9; i++) ids.push(await create());
      const seen = await walk('limit=2', () => create());
      assert.deepEqual(seen, ids.toReversed());
      let gone = 0;
      const rest = await walk('limit=4', () =>
        service.ask(`${path}/${ids[gone++]}`, { method: 'DELETE', key }),
      );
      assert.equal(new Set(rest).size, rest.length);
      for (const id of ids.slice(gone)) assert.ok(rest.includes(id));
    });

    it('tells of each what older clients know, and why it stopped', async () => {
      const { key, create, page } = await newUser();
      const id = await create({
        initial_user_msg: 'Fix the failing test.',
        repository: 'acme/shop',
        git_provider: 'github',
        selected_branch: 'main',
      });
      const [info] = (await page('')).results;
      const {
        last_updated_at: updated,
        created_at: created,
        session_api_key: sessionKey,
        ...rest
      } = info as ConversationInfo;
      assert.ok(sessionKey?.startsWith('pc_'));
      assert.ok(Date.parse(created) <= Date.parse(updated));
      assert.deepEqual(rest, {
        conversation_id: id,
        title: 'Fix the failing test.',
        status: 'STARTING',
        agent_state: null,
        runtime_status: null,
        start_progress: { step: 'waiting_for_worker', details: null },
        selected_repository: 'acme/shop',
        selected_branch: 'main',
        git_provider: 'github',
        trigger: 'gui',
        num_connections: 0,
        url: `${service.url}/api/conversations/${id}`,
        pr_number: [],
        stop_reason: null,
        usage: {
          requests: 0,
          input_tokens: 0,
          output_tokens: 0,
          cache_read_tokens: 0,
          cache_write_tokens: 0,
          cost_usd: 0,
        },
        agent: null,
        llm_model: null,
        confirmation_mode: null,
        client_folder: null,
        pinned: false,
        archived: false,
        unread: true,
        last_event_id: 1,
        seen_event_id: null,
        forked_from: null,
      });
      await service.ask(`${path}/${id}/stop`, { method: 'POST', key });
      const [stopped] = (await page('')).results;
      assert.deepEqual(stopped?.stop_reason, { code: 'user', message: 'You stopped the conversation.' });
      assert.deepEqual((await service.ask(`${path}/${id}`, { key })).body, stopped);
    });

    it('filters by repository, trigger and status, alone and together, before it pages', async () => {
      const { key, create, walk } = await newUser();
      const made: { id: string; repository: string; trigger: string; status: string }[] = [];
      for (let i = 0; i < 16; i++) {
        const repository = i % 2 === 0 ? 'acme/shop' : 'acme/Shop';
        const microagent = i % 4 < 2;
        const id = await create({
          repository,
          ...(microagent ? { create_microagent: { repo: 'acme/other' } } : {}),
        });
        const stopped = i % 8 < 4;
        if (stopped) await service.ask(`${path}/${id}/stop`, { method: 'POST', key });
        made.push({
          id,
          repository,
          trigger: microagent ? 'microagent_management' : 'gui',
          status: stopped ? 'STOPPED' : 'STARTING',
        });
      }
      const wanted = { repository: 'acme/shop', trigger: 'gui', status: 'STOPPED' } as const;
      const names = { repository: 'selected_repository', trigger: 'conversation_trigger', status: 'status' };
      for (let choice = 1; choice < 8; choice++) {
        const chosen = (['repository', 'trigger', 'status'] as const).filter((_, bit) => choice & (1 << bit));
        const query = chosen.map((name) => `${names[name]}=${encodeURIComponent(wanted[name])}`).join('&');
        const expected = made.filter((one) => chosen.every((name) => one[name] === wanted[name]));
        for (const limit of [1, 3, 1_000])
          assert.deepEqual(
            await walk(`limit=${limit}&${query}`),
            expected.map(({ id }) => id).toReversed(),
            query,
          );
      }
      assert.deepEqual(await walk('status=RUNNING'), []);
      assert.deepEqual(await walk('selected_repository=nobody/nothing'), []);
    });

    it('finds words of the title or the repository in any case, and takes signs for themselves', async () => {
      const { create, walk } = await newUser();
      const ids: Record<string, string> = {};
      for (const [name, title, repository] of [
        ['upper', 'Fix the PARSER now', null],
        ['repo', 'Something else', 'acme/Parser-Tools'],
        ['percent', '100% of it', null],
        ['underscore', 'snake_case here', null],
        ['plain', '100 of it, snakeXcase here', null],
        ['umlaut', 'Über ÄPFEL', null],
        ['quote', `it's "quoted" \\ here`, null],
      ] as const)
        ids[name] = await create({ initial_user_msg: title, repository });
      const cases: readonly [q: string, names: readonly string[]][] = [
        ['parser', ['repo', 'upper']],
        ['  PARSER ', ['repo', 'upper']],
        ['%', ['percent']],
        ['0% O', ['percent']],
        ['_', ['underscore']],
        ['snake_case', ['underscore']],
        ['äpfel', ['umlaut']],
        ['ÜBER', ['umlaut']],
        ["'", ['quote']],
        ['\\', ['quote']],
        ['"quoted"', ['quote']],
        ['nothing like it', []],
        ['', Object.keys(ids).toReversed()],
      ];
      for (const [q, names] of cases)
        for (const limit of [1, 100])
          assert.deepEqual(
            await walk(`limit=${limit}&q=${encodeURIComponent(q)}`),
            names.map((name) => ids[name]),
            q,
          );
      assert.deepEqual(await walk('q=parser&selected_repository=acme/Parser-Tools'), [ids['repo']]);
    });

    it('never shows what belongs to others', async () => {
      const mine = await newUser();
      const theirs = await newUser();
      await theirs.create({ initial_user_msg: secretValue, repository: secretValue });
      const id = await mine.create();
      for (const query of ['', 'limit=1000', 'status=STARTING', 'conversation_trigger=gui'])
        assert.deepEqual(await mine.walk(query), [id]);
      assert.deepEqual(await mine.walk(`q=${secretValue}`), []);
      // A place in their list is no way into it.
      await theirs.create();
      const { next_page_id: place } = await theirs.page('limit=1');
      const { results } = await mine.page(`page_id=${place}`);
      assert.ok(results.every((info) => info.conversation_id === id));
    });

    it('refuses a limit that is not 1 to 1000, 422', async () => {
      for (const limit of ['0', '1001', '-1', '1.5', 'abc', '', '1e2', '99999']) {
        const { status, body } = await service.ask(`${path}?limit=${limit}`);
        assert.deepEqual([status, body.details[0].path], [422, 'limit'], limit);
      }
    });

    it('refuses a page_id that it did not give, 422, without repeating it', async () => {
      for (const pageId of [
        '',
        secretValue,
        '!!!!',
        base64url('1'),
        base64url('1.'),
        base64url('1.2.3'),
        base64url('-1.2'),
        base64url('1.5e3.1'),
        base64url(`${'9'.repeat(16)}.1`),
        base64url(`1.${'9'.repeat(30)}`),
        base64url("1.1' or '1'='1"),
        base64url('NaN.NaN'),
        'x'.repeat(65),
      ]) {
        const { status, body, text } = await service.ask(`${path}?page_id=${encodeURIComponent(pageId)}`);
        assert.deepEqual([status, body.details[0].path], [422, 'page_id'], pageId);
        assert.ok(!text.includes(secretValue));
      }
    });

    it('begins at the top for a page_id of the far future, and has nothing before the first', async () => {
      const { create, page } = await newUser();
      await create();
      assert.equal(
        (await page(`page_id=${base64url(`${'9'.repeat(15)}.${'9'.repeat(15)}`)}`)).results.length,
        1,
      );
      assert.deepEqual(await page(`page_id=${base64url('0.0')}`), { results: [], next_page_id: null });
    });

    it('refuses values that it does not know and names the parameter, 422', async () => {
      for (const query of [
        `status=${secretValue}`,
        'limit=1&limit=2',
        'q=%00',
        'selected_repository=a%00b',
        'conversation_trigger=%00',
        `q=${'x'.repeat(5_000)}`,
      ]) {
        const { status, body, text } = await service.ask(`${path}?${query}`);
        assert.deepEqual([status, body.details[0].path], [422, query.split('=')[0]], query.slice(0, 50));
        assert.ok(!text.includes(secretValue));
      }
    });
  });

  describe(`GET /api/conversations/{id} and what belongs to it on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    it('is null where there is none, 200', async () => {
      const { status, text, headers } = await service.ask(`${path}/nothing`);
      assert.deepEqual([status, text], [200, 'null']);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
    });

    it('answers what older clients ask for: config, an editor, servers', async () => {
      const { body } = await service.ask(path, { json: {} });
      const id = body.conversation_id;
      const get = async (what: string) => (await service.ask(`${path}/${id}/${what}`)).body;
      assert.deepEqual(await get('config'), { runtime_id: null, session_id: id });
      await inspect(service.storage, `update conversations set run_id = 'run-7' where id = '${id}'`);
      assert.deepEqual(await get('config'), { runtime_id: 'run-7', session_id: id });
      assert.deepEqual(await get('vscode-url'), { vscode_url: null });
      assert.deepEqual(await get('web-hosts'), { hosts: {} });
    });

    it('shows what goes on while a run has it', async () => {
      const { body } = await service.ask(path, { json: {} });
      const id = body.conversation_id;
      await inspect(
        service.storage,
        `update conversations set run_id = 'r', runtime_status = 'STATUS$SETTING_UP_WORKSPACE: 10 %: half' where id = '${id}'`,
      );
      const { runtime_status: status, start_progress: progress } = (await service.ask(`${path}/${id}`)).body;
      assert.equal(status, 'STATUS$SETTING_UP_WORKSPACE');
      assert.deepEqual(progress, { step: 'preparing_workspace', details: '10 %: half' });
    });
  });
}
