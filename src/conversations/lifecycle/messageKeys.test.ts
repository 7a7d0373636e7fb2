// A message with an Idempotency-Key is in the log once, however often it is sent.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countStrays, inspect } from '../../../test/support/inspect.ts';
import { type Answer, startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';

for (const kind of databaseKinds) {
  describe(`POST …/message with an Idempotency-Key on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind, env: { PARLEY_WAITING_MAX: '40' } });
    });
    after(() => service.stop());

    async function create(json: Record<string, unknown> = {}): Promise<string> {
      return (await service.ask(path, { json })).body.conversation_id;
    }
    const say = (id: string, json: unknown, key?: string): Promise<Answer> =>
      service.ask(`${path}/${id}/message`, {
        json,
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      });
    const stop = (id: string) => service.ask(`${path}/${id}/stop`, { method: 'POST' });
    async function said(id: string): Promise<{ id: number; content: string }[]> {
      const { body } = await service.ask(`${path}/${id}/events?limit=100`);
      return body.events
        .filter(({ action }: { action?: string }) => action === 'message')
        .map((event: { id: number; args: { content: string } }) => ({
          id: event.id,
          content: event.args.content,
        }));
    }

    it('returns the id of the event, whether it runs or is resumed, with and without a key, 200', async () => {
      const id = await create();
      const answers = [await say(id, { message: 'a' }), await say(id, { message: 'b' }, 'ids-1')];
      await stop(id);
      answers.push(await say(id, { message: 'c' }, 'ids-2'));
      await stop(id);
      answers.push(await say(id, { message: 'd', image_urls: ['<string>'] }));
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body.success, body.event_id]),
        (await said(id)).map((event) => [200, true, event.id]),
      );
    });

    it('answers repetitions alike, also concurrent ones and ones after a stop, and adds the message once', async () => {
      const id = await create();
      const answers = await Promise.all(Array.from({ length: 8 }, () => say(id, { message: 'once' }, 'k')));
      await say(id, { message: 'between' });
      await stop(id);
      answers.push(await say(id, { message: 'once', image_urls: null, file_urls: [] }, 'k'));
      const [{ body } = { body: undefined }] = answers;
      for (const answer of answers) assert.deepEqual([answer.status, answer.body], [200, body]);
      assert.deepEqual(
        (await said(id)).map(({ content }) => content),
        ['once', 'between'],
      );
      assert.equal(body.event_id, (await said(id))[0]?.id);
      assert.equal((await service.ask(`${path}/${id}`)).body.status, 'STOPPED');
    });

    it('refuses the key of another message, conversation or creation, 409, and adds nothing', async () => {
      const id = await create();
      const other = await create();
      await say(id, { message: 'first' }, 'taken');
      const headers = { 'idempotency-key': 'by-creation' };
      await service.ask(path, { json: { initial_user_msg: 'x' }, headers });
      const refused = [
        await say(id, { message: 'second' }, 'taken'),
        await say(id, { message: 'first', image_urls: ['https://a.test/b.png'] }, 'taken'),
        await say(other, { message: 'first' }, 'taken'),
        await say(id, { message: 'x' }, 'by-creation'),
        await service.ask(path, { json: {}, headers: { 'idempotency-key': 'taken' } }),
      ];
      for (const { status, body } of refused)
        assert.deepEqual([status, body.code], [409, 'idempotency_key_reused']);
      assert.equal((await said(id)).length, 1);
      assert.equal((await said(other)).length, 0);
    });

    it('adds a message once if two conversations get the same key at the same moment', async () => {
      const ids = await Promise.all(Array.from({ length: 6 }, () => create()));
      const answers = await Promise.all(ids.map((id) => say(id, { message: 'x' }, 'raced')));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409, 409]);
      const counts = await Promise.all(ids.map(async (id) => (await said(id)).length));
      assert.equal(
        counts.reduce((sum, n) => sum + n),
        1,
      );
    });

    it('forgets the key after its time, and with its conversation', async () => {
      const id = await create({ conversation_id: 'forgets' });
      await say(id, { message: 'old' }, 'expires');
      await inspect(
        service.storage,
        `update idempotency set expires_at = 1 where conversation_id = 'forgets'`,
      );
      assert.equal((await say(id, { message: 'new' }, 'expires')).status, 200);
      assert.equal((await said(id)).length, 2);
      await service.ask(`${path}/${id}`, { method: 'DELETE' });
      assert.equal(await countStrays(service.storage), 0);
      assert.equal((await say(id, { message: 'new' }, 'expires')).status, 404);
      await create({ conversation_id: 'forgets' });
      assert.equal((await say(id, { message: 'newer' }, 'expires')).status, 200);
    });

    it('keeps no key of a message that was refused, and answers a repetition before it refuses', async () => {
      const tight = await startService({ kind, env: { PARLEY_WAITING_MAX: '1' } });
      try {
        const make = async () => (await tight.ask(path, { json: {} })).body.conversation_id;
        const send = (id: string) =>
          tight.ask(`${path}/${id}/message`, {
            json: { message: 'again' },
            headers: { 'idempotency-key': `of-${id}` },
          });
        const end = (id: string) => tight.ask(`${path}/${id}/stop`, { method: 'POST' });
        const first = await make();
        const sent = await send(first);
        await end(first);
        const waiting = await make();
        // The first one is stopped and another one waits: a new message is refused, a repeated one is not.
        assert.deepEqual((await send(first)).body, sent.body);
        await end(waiting);
        const third = await make();
        const refused = await send(waiting);
        assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_waiting']);
        await end(third);
        assert.equal((await send(waiting)).status, 200);
      } finally {
        await tight.stop();
      }
    });

    it('refuses a key that is empty or longer than 255, 422', async () => {
      const id = await create();
      for (const key of ['', 'x'.repeat(256)]) {
        const { status, body } = await say(id, { message: 'x' }, key);
        assert.deepEqual([status, body.details[0].path], [422, 'Idempotency-Key']);
      }
    });
  });
}
