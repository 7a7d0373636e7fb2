import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';

for (const kind of databaseKinds) {
  describe(`POST /api/conversations on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const create = (json: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
      service.ask(path, { json, headers });

    async function storedEvents(id: string): Promise<Record<string, unknown>[]> {
      const rows = await inspect(
        service.storage,
        `select e.id, e.json from event_log e join conversations c on c.key = e.conversation_key
         where c.id = '${id}' order by e.id`,
      );
      rows.forEach((row, i) => {
        assert.equal(Number(row['id']), i);
      });
      return rows.map((row) => JSON.parse(String(row['json'])));
    }

    it('answers exactly four members, STARTING, with a time-ordered id of 32 hex digits, 200', async () => {
      const first = await create({ initial_user_msg: 'hello' });
      const second = await create({ initial_user_msg: 'hello' });
      assert.equal(first.status, 200);
      assert.deepEqual(Object.keys(first.body), [
        'status',
        'conversation_id',
        'message',
        'conversation_status',
      ]);
      assert.equal(first.body.status, 'ok');
      assert.equal(first.body.conversation_status, 'STARTING');
      assert.match(first.body.conversation_id, /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
      assert.ok(first.body.conversation_id < second.body.conversation_id);
    });

    it('stores the message and the loading state as the first events, numbered from 0', async () => {
      const { body } = await create({ initial_user_msg: 'hi', image_urls: ['https://example.com/a.png'] });
      const [message, state, ...rest] = await storedEvents(body.conversation_id);
      assert.deepEqual(rest, []);
      assert.equal(message?.['action'], 'message');
      assert.equal(message?.['source'], 'user');
      assert.deepEqual(message?.['args'], {
        content: 'hi',
        image_urls: ['https://example.com/a.png'],
        file_urls: [],
        wait_for_response: false,
      });
      assert.deepEqual(state?.['extras'], { agent_state: 'loading', reason: '' });
      assert.match(String(state?.['timestamp']), /^\d{4}-\d\d-\d\dT/);
    });

    it('takes no body at all, zero bytes and an empty object as the same, 200', async () => {
      for (const ask of [
        { method: 'POST' },
        { method: 'POST', raw: '', headers: { 'content-type': 'application/json' } },
        { method: 'POST', raw: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
        { json: {} },
      ]) {
        const { status, body } = await service.ask(path, ask);
        assert.equal(status, 200);
        assert.equal((await storedEvents(body.conversation_id)).length, 1);
      }
    });

    it('takes null as absent for every member but conversation_id, 200', async () => {
      const members = [
        'repository',
        'git_provider',
        'selected_branch',
        'initial_user_msg',
        'image_urls',
        'replay_json',
        'suggested_task',
        'create_microagent',
        'conversation_instructions',
        'mcp_config',
      ];
      const nulls = Object.fromEntries(members.map((name) => [name, null]));
      const { status, body } = await create({ ...nulls, conversation_id: `${kind}-nulls` });
      assert.deepEqual([status, body.conversation_id], [200, `${kind}-nulls`]);
      assert.equal((await create({ conversation_id: `${kind}-nulls` })).status, 200);
      assert.equal((await create({ conversation_id: null })).status, 422);
    });

    it('returns the first conversation when the same id and request are sent twice, 200', async () => {
      const request = { conversation_id: 'twice', initial_user_msg: 'a', repository: null };
      const before = await countRows(service.storage, 'conversations');
      const answers = await Promise.all([create(request), create({ ...request }), create(request)]);
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body.conversation_id]),
        Array(3).fill([200, 'twice']),
      );
      assert.equal(await countRows(service.storage, 'conversations'), before + 1);
      const spelled = { initial_user_msg: 'a', conversation_id: 'twice' };
      assert.equal((await create(spelled)).status, 200);
    });

    it('refuses the same id with another request, 409 conversation_exists, and stores nothing', async () => {
      await create({ conversation_id: 'taken', initial_user_msg: 'a' });
      const before = await countRows(service.storage, 'events');
      const { status, body } = await create({ conversation_id: 'taken', initial_user_msg: 'b' });
      assert.deepEqual([status, body.code], [409, 'conversation_exists']);
      assert.equal(await countRows(service.storage, 'events'), before);
    });

    it('returns the status of now for a repeated id', async () => {
      await create({ conversation_id: 'stopped-now' });
      await inspect(service.storage, "update conversations set status = 'STOPPED' where id = 'stopped-now'");
      const { body } = await create({ conversation_id: 'stopped-now' });
      assert.deepEqual([body.conversation_status, body.message], ['STOPPED', null]);
    });

    it('gives callers without an id the same promise by Idempotency-Key', async () => {
      const headers = { 'idempotency-key': 'order 17' };
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => create({ initial_user_msg: 'once' }, headers)),
      );
      const ids = new Set(answers.map(({ body }) => body.conversation_id));
      assert.deepEqual([answers.map(({ status }) => status), ids.size], [[200, 200, 200, 200, 200], 1]);
      const other = await create({ initial_user_msg: 'twice' }, headers);
      assert.deepEqual([other.status, other.body.code], [409, 'idempotency_key_reused']);
    });

    it('forgets an Idempotency-Key after its time and then creates anew', async () => {
      const headers = { 'idempotency-key': 'expires' };
      const first = await create({ initial_user_msg: 'x' }, headers);
      await inspect(
        service.storage,
        `update idempotency set expires_at = 1 where conversation_id = '${first.body.conversation_id}'`,
      );
      const second = await create({ initial_user_msg: 'other' }, headers);
      assert.equal(second.status, 200);
      assert.notEqual(second.body.conversation_id, first.body.conversation_id);
      const third = await create({ initial_user_msg: 'other' }, headers);
      assert.equal(third.body.conversation_id, second.body.conversation_id);
    });

    it('refuses an Idempotency-Key that is empty or longer than 255, 422', async () => {
      for (const value of ['', 'x'.repeat(256)]) {
        const { status, body } = await create({}, { 'idempotency-key': value });
        assert.deepEqual([status, body.details[0].path], [422, 'Idempotency-Key']);
      }
    });

    it('makes the first message of a suggested task and appends the own words to it', async () => {
      const task = {
        git_provider: 'gitlab',
        task_type: 'MERGE_CONFLICTS',
        repo: 'acme/shop',
        issue_number: 42,
        title: 'New API',
      };
      const { body } = await create({ suggested_task: task, initial_user_msg: 'Be careful.' });
      const [message] = await storedEvents(body.conversation_id);
      assert.match(String(message?.['message']), /^The merge request #42 of acme\/shop .*\n\nBe careful\.$/s);
      const [row] = await inspect(
        service.storage,
        `select trigger, repository, git_provider from conversations where id = '${body.conversation_id}'`,
      );
      assert.deepEqual(
        { ...row },
        { trigger: 'suggested_task', repository: 'acme/shop', git_provider: 'gitlab' },
      );
    });

    it('fills repository and provider from create_microagent, and lets suggested_task win', async () => {
      const microagent = { repo: 'acme/tools' };
      const made = await create({ create_microagent: microagent });
      const [row] = await inspect(
        service.storage,
        `select trigger, repository, git_provider from conversations where id = '${made.body.conversation_id}'`,
      );
      assert.deepEqual(
        { ...row },
        { trigger: 'microagent_management', repository: 'acme/tools', git_provider: null },
      );
      const task = { git_provider: 'github', task_type: 'OPEN_PR', repo: 'a/b', issue_number: 1, title: '' };
      const both = await create({ create_microagent: microagent, suggested_task: task });
      const [won] = await inspect(
        service.storage,
        `select trigger, repository from conversations where id = '${both.body.conversation_id}'`,
      );
      assert.deepEqual({ ...won }, { trigger: 'suggested_task', repository: 'a/b' });
    });

    it('takes any string as an image, and names in the log what the agent does not get, 200', async () => {
      const image_urls = ['<string>', 'https://a.example/x.png', '', 'data:image/png;base64,AA==', 'http://'];
      const { status, body } = await create({ image_urls, initial_user_msg: 'look' });
      assert.equal(status, 200);
      const [said, named, loading] = await storedEvents(body.conversation_id);
      assert.deepEqual((said?.['args'] as { image_urls?: string[] } | undefined)?.image_urls, image_urls);
      assert.deepEqual(
        [named?.['observation'], named?.['content']],
        [
          'notice',
          'Not sent to the agent as an image, because they are not URLs: "<string>", "", "http://".',
        ],
      );
      assert.equal(loading?.['observation'], 'agent_state_changed');
      const fine = await create({ image_urls: ['https://a.example/x.png'] });
      assert.equal((await storedEvents(fine.body.conversation_id)).length, 2);
    });

    it('names at most five images and cuts long ones short', async () => {
      const image_urls = ['🙂'.repeat(500), ...Array<string>(6).fill('x')];
      const { body } = await create({ image_urls });
      const [, named] = await storedEvents(body.conversation_id);
      const content = String(named?.['content']);
      assert.ok(content.isWellFormed());
      assert.ok(content.endsWith(`"${'🙂'.repeat(80)}…", "x", "x", "x", "x" and 2 more.`), content);
    });

    it('numbers replayed events anew and puts them before the first message', async () => {
      const trajectory = [
        { id: 7, action: 'message', args: { content: 'old' }, source: 'user', message: 'old' },
        { observation: 'run', content: 'ok', extras: {}, timestamp: '2020-01-01T00:00:00Z' },
      ];
      const { body } = await create({ replay_json: JSON.stringify({ trajectory }), initial_user_msg: 'on' });
      const events = await storedEvents(body.conversation_id);
      assert.deepEqual(
        events.map((e) => [e['id'], e['replayed'] ?? false]),
        [
          [0, true],
          [1, true],
          [2, false],
          [3, false],
        ],
      );
      assert.equal(events[1]?.['timestamp'], '2020-01-01T00:00:00Z');
    });

    it('refuses a replay whose events have members of another shape, 422, and takes null for none', async () => {
      const replay = (event: object) => create({ replay_json: JSON.stringify([event]) });
      const odd = [
        ['content', { observation: 'run', content: 5 }, 'must be a string'],
        ['content', { observation: 'notice', content: { a: 1 } }, 'must be a string'],
        ['args', { action: 'run', args: [] }, 'must be an object'],
        ['extras', { observation: 'run', extras: 'x' }, 'must be an object'],
        ['action', { observation: 'run', action: 1 }, 'must be a string'],
        ['tool_call_id', { action: 'run', tool_call_id: {} }, 'must be a string'],
      ] as const;
      for (const [member, event, message] of odd) {
        const { status, body } = await replay(event);
        assert.equal(status, 422);
        assert.deepEqual(body.details, [{ path: `replay_json[0].${member}`, message }]);
      }
      assert.equal((await replay({ action: 'run', args: null, content: null })).status, 200);
    });

    it('takes an empty string, list or object as no replay at all, 200', async () => {
      for (const replay_json of ['', '[]', '{}']) {
        const { status, body } = await create({ replay_json });
        assert.equal(status, 200);
        const events = await storedEvents(body.conversation_id);
        assert.deepEqual(
          events.map(({ observation }) => observation),
          ['agent_state_changed'],
        );
      }
    });

    it('stores a replay of many events whole', async () => {
      const events = Array.from({ length: 345 }, (_, i) => ({
        action: 'message',
        args: { content: `${i}` },
      }));
      const { body } = await create({ replay_json: JSON.stringify(events) });
      const stored = await storedEvents(body.conversation_id);
      assert.equal(stored.length, 346);
      assert.deepEqual(stored[344]?.['args'], { content: '344' });
    });

    it('takes the short forms of mcp_config as their long ones', async () => {
      const short = {
        conversation_id: 'mcp-forms',
        mcp_config: {
          sse_servers: ['https://a.example.com/sse'],
          stdio_servers: [{ name: 'one', command: 'npx', args: `-y 'two words' "x\\"y"`, env: 'A=1,B=2' }],
        },
      };
      const long = {
        conversation_id: 'mcp-forms',
        mcp_config: {
          shttp_servers: [],
          sse_servers: [{ url: 'https://a.example.com/sse', api_key: null }],
          stdio_servers: [
            { name: 'one', command: 'npx', args: ['-y', 'two words', 'x"y'], env: { B: '2', A: '1' } },
          ],
        },
      };
      assert.equal((await create(short)).status, 200);
      assert.equal((await create(long)).status, 200);
    });

    it('lets two users use the same id, and neither learns of the other', async () => {
      const made = await service.ask('/api/keys', { json: { name: 'second', user: `ada-${kind}` } });
      const first = await create({ conversation_id: 'shared', initial_user_msg: 'mine' });
      const second = await service.ask(path, {
        key: made.body.key,
        json: { conversation_id: 'shared', initial_user_msg: 'theirs' },
      });
      assert.deepEqual([first.status, second.status], [200, 200]);
      const headers = { 'idempotency-key': 'shared key' };
      const mine = await create({ initial_user_msg: 'mine' }, headers);
      const theirs = await service.ask(path, {
        key: made.body.key,
        json: { initial_user_msg: 'theirs' },
        headers,
      });
      assert.equal(theirs.status, 200);
      assert.notEqual(mine.body.conversation_id, theirs.body.conversation_id);
    });

    it('needs X-Session-API-Key: a Bearer alone is 401', async () => {
      const { status, headers } = await service.ask(path, { json: {}, key: null, bearer: service.key });
      assert.equal(status, 401);
      assert.match(headers.get('www-authenticate') ?? '', /parley/);
    });
  });
}
