import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, countStrays, inspect } from '../../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';

interface Event {
  readonly id: number;
  readonly source: string;
  readonly action?: string;
  readonly args?: Record<string, unknown>;
  readonly extras?: { readonly agent_state: string; readonly reason: string };
}

for (const kind of databaseKinds) {
  describe(`the life of a conversation on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const post = (id: string, what: string, json?: unknown): Promise<Answer> =>
      service.ask(`${path}/${id}/${what}`, { method: 'POST', ...(json === undefined ? {} : { json }) });
    const info = async (id: string) => (await service.ask(`${path}/${id}`)).body;

    async function create(json: Record<string, unknown> = {}): Promise<string> {
      const { status, body } = await service.ask(path, { json });
      assert.equal(status, 200);
      return body.conversation_id;
    }

    async function eventsOf(id: string): Promise<Event[]> {
      const { body } = await service.ask(`${path}/${id}/events?limit=100`);
      body.events.forEach((event: Event, i: number) => {
        assert.equal(event.id, i);
      });
      return body.events;
    }

    /** Everything that a change would leave behind. */
    async function traces() {
      return {
        changes: await countRows(service.storage, 'changes'),
        events: await countRows(service.storage, 'events'),
        rows: await inspect(service.storage, 'select * from conversations order by key'),
      };
    }

    describe('POST …/stop', () => {
      it('stops it, and tells why in the info and in the log, 200', async () => {
        const id = await create();
        const { status, body } = await post(id, 'stop');
        assert.equal(status, 200);
        assert.deepEqual(body, {
          status: 'ok',
          conversation_id: id,
          message: null,
          conversation_status: 'STOPPED',
        });
        const { status: now, stop_reason: reason, runtime_status: runtime } = await info(id);
        assert.deepEqual([now, reason.code, runtime], ['STOPPED', 'user', 'STATUS$STOPPED']);
        const last = (await eventsOf(id)).at(-1);
        assert.equal(last?.source, 'environment');
        assert.deepEqual(last?.extras, { agent_state: 'stopped', reason: reason.message });
      });

      it('changes nothing the second time, 200', async () => {
        const id = await create();
        await post(id, 'stop');
        const before = await traces();
        const { status, body } = await post(id, 'stop');
        assert.deepEqual([status, body.conversation_status], [200, 'STOPPED']);
        assert.deepEqual(await traces(), before);
      });

      it('stops it once when many ask at the same moment', async () => {
        const id = await create();
        const answers = await Promise.all(Array.from({ length: 10 }, () => post(id, 'stop')));
        assert.ok(
          answers.every(({ status, body }) => status === 200 && body.conversation_status === 'STOPPED'),
        );
        assert.equal((await eventsOf(id)).filter((e) => e.extras?.agent_state === 'stopped').length, 1);
      });
    });

    describe('POST …/start', () => {
      it('starts one that has stopped, which forgets why it had, 200', async () => {
        const id = await create();
        await post(id, 'stop');
        const { status, body } = await post(id, 'start', { providers_set: ['github'] });
        assert.deepEqual([status, body.conversation_status, body.conversation_id], [200, 'STARTING', id]);
        const { status: now, stop_reason: reason } = await info(id);
        assert.deepEqual([now, reason], ['STARTING', null]);
        assert.equal((await eventsOf(id)).at(-1)?.extras?.agent_state, 'loading');
      });

      it('takes no body, zero bytes and an empty object as the same, 200', async () => {
        const id = await create();
        for (const ask of [
          { method: 'POST' },
          { method: 'POST', raw: '', headers: { 'content-type': 'application/json' } },
          { json: {} },
          { json: { providers_set: null } },
        ])
          assert.equal((await service.ask(`${path}/${id}/start`, ask)).status, 200);
      });

      it('changes nothing where it starts or runs already, 200', async () => {
        for (const status of ['STARTING', 'RUNNING']) {
          const id = await create();
          await inspect(service.storage, `update conversations set status = '${status}' where id = '${id}'`);
          const before = await traces();
          const answer = await post(id, 'start', {});
          assert.deepEqual([answer.status, answer.body.conversation_status], [200, status]);
          assert.deepEqual(await traces(), before);
        }
      });
    });

    describe('POST …/message', () => {
      it('wakes one that has stopped: the message comes first, then loading', async () => {
        const id = await create();
        await post(id, 'stop');
        const before = (await eventsOf(id)).length;
        const { status, body } = await post(id, 'message', {
          message: 'go on',
          image_urls: ['https://example.com/a.png'],
        });
        assert.deepEqual([status, body], [200, { success: true, event_id: 2 }]);
        const [message, state, ...rest] = (await eventsOf(id)).slice(before);
        assert.deepEqual(rest, []);
        assert.deepEqual([message?.source, message?.action], ['user', 'message']);
        assert.deepEqual(message?.args, {
          content: 'go on',
          image_urls: ['https://example.com/a.png'],
          file_urls: [],
          wait_for_response: false,
        });
        assert.equal(state?.extras?.agent_state, 'loading');
        assert.equal((await info(id)).status, 'STARTING');
      });

      it('only adds to the log of one that lives, and leaves its status', async () => {
        for (const status of ['STARTING', 'RUNNING']) {
          const id = await create();
          await inspect(service.storage, `update conversations set status = '${status}' where id = '${id}'`);
          const before = await countRows(service.storage, 'changes');
          assert.equal((await post(id, 'message', { message: 'more' })).status, 200);
          const events = await eventsOf(id);
          assert.deepEqual([events.length, events.at(-1)?.args?.['content']], [2, 'more']);
          assert.equal((await info(id)).status, status);
          assert.equal(await countRows(service.storage, 'changes'), before);
        }
      });

      it('keeps the words as they were sent, whatever they hold', async () => {
        const id = await create();
        const said = [
          ' \n spaces around \t',
          '"quotes" \\ and \u2028 lines',
          '😀 ünïcode',
          'data: x\n\nid: 7',
        ];
        for (const message of said) assert.equal((await post(id, 'message', { message })).status, 200);
        const events = await eventsOf(id);
        assert.deepEqual(
          events.slice(1).map((e) => e.args?.['content']),
          said,
        );
      });

      it('names in the log what is no URL among its images, whether it runs or starts again, 200', async () => {
        const id = await create();
        for (let i = 0; i < 2; i++) {
          const sent = await post(id, 'message', { message: 'look', image_urls: ['<string>'] });
          assert.equal(sent.status, 200);
          const events = await eventsOf(id);
          const at = events.findLastIndex(({ action }) => action === 'message');
          assert.deepEqual(events[at]?.args?.['image_urls'], ['<string>']);
          assert.deepEqual((events[at + 1] as { observation?: string }).observation, 'notice');
          await post(id, 'stop');
        }
        const act = { action: 'message', args: { content: 'x', image_urls: ['file:///etc/passwd'] } };
        assert.equal((await post(id, 'events', act)).status, 422);
      });

      it('takes an image without words, and refuses neither words nor image, 422', async () => {
        const id = await create();
        const image = 'data:image/png;base64,AAAA';
        assert.equal((await post(id, 'message', { message: '', image_urls: [image] })).status, 200);
        for (const message of ['', ' \n\t ']) {
          const { status, body } = await post(id, 'message', { message });
          assert.deepEqual([status, body.details[0].path], [422, 'message']);
        }
        assert.equal((await eventsOf(id)).length, 2);
      });

      it('gives concurrent messages one number each, without a gap', async () => {
        const id = await create();
        const said = Array.from({ length: 20 }, (_, i) => `m${i}`);
        await Promise.all(said.map((message) => post(id, 'message', { message })));
        const events = await eventsOf(id);
        assert.equal(events.length, 21);
        assert.deepEqual(
          events
            .slice(1)
            .map((e) => String(e.args?.['content']))
            .toSorted(),
          said.toSorted(),
        );
      });
    });

    describe('POST …/events', () => {
      it('takes a message as older clients send it, 200 with success', async () => {
        const id = await create();
        const { status, body } = await post(id, 'events', {
          action: 'message',
          args: { content: 'old', image_urls: [], file_urls: [], timestamp: '2025-01-01T00:00:00Z' },
        });
        assert.deepEqual([status, body], [200, { success: true }]);
        assert.equal((await eventsOf(id)).at(-1)?.args?.['content'], 'old');
      });

      it('stops for stopped and paused, and starts for running', async () => {
        const change = (id: string, agent_state: string) =>
          post(id, 'events', { action: 'change_agent_state', args: { agent_state } });
        for (const state of ['stopped', 'paused']) {
          const id = await create();
          assert.deepEqual((await change(id, state)).body, { success: true });
          assert.equal((await info(id)).status, 'STOPPED');
          assert.equal((await eventsOf(id)).at(-1)?.extras?.agent_state, state);
          assert.deepEqual((await change(id, 'running')).body, { success: true });
          assert.equal((await info(id)).status, 'STARTING');
        }
      });

      it('names the member of the action that is empty, 422', async () => {
        const id = await create();
        const { status, body } = await post(id, 'events', { action: 'message', args: { content: ' ' } });
        assert.deepEqual([status, body.details[0].path], [422, 'args.content']);
      });
    });

    describe('PATCH /api/conversations/{id}', () => {
      const rename = (id: string, title: unknown) =>
        service.ask(`${path}/${id}`, { method: 'PATCH', json: { title } });

      it('renames it, without the spaces around, and answers true', async () => {
        const id = await create();
        const { status, text } = await rename(id, '  Parser fix \n');
        assert.deepEqual([status, text], [200, 'true']);
        assert.equal((await info(id)).title, 'Parser fix');
      });

      it('takes 1 to 200 characters, an emoji being one of them, and refuses 201, 422', async () => {
        const id = await create();
        for (const title of ['x', 'x'.repeat(200), '😀'.repeat(200), ` ${'ü'.repeat(200)} `]) {
          assert.equal((await rename(id, title)).status, 200);
          assert.equal((await info(id)).title, title.trim());
        }
        for (const title of ['', '   ', 'x'.repeat(201), '😀'.repeat(201), 'a\u0000b', '\ud800', null, 7]) {
          const { status, body } = await rename(id, title);
          assert.deepEqual([status, body.details[0].path], [422, 'title']);
        }
        assert.equal((await info(id)).title, 'ü'.repeat(200));
      });

      it('changes nothing where the title is the same', async () => {
        const id = await create();
        await rename(id, 'same');
        const before = await traces();
        assert.equal((await rename(id, ' same ')).text, 'true');
        assert.deepEqual(await traces(), before);
      });
    });

    describe('DELETE /api/conversations/{id}', () => {
      const remove = (id: string) => service.ask(`${path}/${id}`, { method: 'DELETE' });

      it('takes the conversation and its events away, and answers true, then false', async () => {
        const id = await create({ initial_user_msg: 'hello' });
        const before = await countRows(service.storage, 'events');
        const first = await remove(id);
        assert.deepEqual([first.status, first.text], [200, 'true']);
        assert.equal(await countRows(service.storage, 'events'), before - 2);
        assert.equal(await countStrays(service.storage), 0);
        assert.equal((await service.ask(`${path}/${id}`)).text, 'null');
        const second = await remove(id);
        assert.deepEqual([second.status, second.text], [200, 'false']);
      });

      it('frees the id: used again, its log begins at 0 and holds nothing of before', async () => {
        const id = await create({ conversation_id: 'again', initial_user_msg: 'first life' });
        for (let i = 0; i < 5; i++) await post(id, 'message', { message: `m${i}` });
        await remove(id);
        assert.equal(await create({ conversation_id: 'again', initial_user_msg: 'second life' }), id);
        const events = await eventsOf(id);
        assert.deepEqual(
          events.map((e) => e.args?.['content'] ?? e.extras?.agent_state),
          ['second life', 'loading'],
        );
      });

      it('frees the Idempotency-Key', async () => {
        const headers = { 'idempotency-key': 'deleted' };
        const first = await service.ask(path, { json: { initial_user_msg: 'a' }, headers });
        await remove(first.body.conversation_id);
        const second = await service.ask(path, { json: { initial_user_msg: 'b' }, headers });
        assert.equal(second.status, 200);
        assert.notEqual(second.body.conversation_id, first.body.conversation_id);
      });

      it('never gives the number of a deleted log to another one', async () => {
        const numberOf = async (id: string) =>
          (await inspect(service.storage, `select key from conversations where id = '${id}'`))[0]?.['key'];
        const first = await create();
        const number = await numberOf(first);
        await remove(first);
        assert.notEqual(await numberOf(await create()), number);
      });

      it('takes one of those who delete at the same moment for the one who did it', async () => {
        const id = await create();
        const answers = await Promise.all(Array.from({ length: 6 }, () => remove(id)));
        assert.equal(answers.filter(({ body }) => body === true).length, 1);
        assert.ok(answers.every(({ status }) => status === 200));
      });
    });
  });
}
