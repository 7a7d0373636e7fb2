import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { startService, type TestService } from '../../../test/support/service.ts';

const path = '/api/conversations';

for (const kind of databaseKinds) {
  describe(`POST …/confirm on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    /** One whose agent waits for an answer to event 0. */
    async function asking(): Promise<string> {
      const id: string = (await service.ask(path, { json: {} })).body.conversation_id;
      await inspect(
        service.storage,
        `update conversations set status = 'RUNNING', question = 0 where id = '${id}'`,
      );
      return id;
    }
    const confirm = (id: string, json: unknown, key?: string) =>
      service.ask(`${path}/${id}/confirm`, { json, ...(key === undefined ? {} : { key }) });
    const lastEvent = async (id: string) =>
      (await service.ask(`${path}/${id}/events?reverse=true&limit=1`)).body.events[0];

    it('adds the answer to the log, 200, and a second one finds nothing to answer, 409', async () => {
      for (const [decision, state] of [
        ['allow', 'user_confirmed'],
        ['allow_always', 'user_confirmed'],
        ['reject', 'user_rejected'],
      ]) {
        const id = await asking();
        const { status, body } = await confirm(id, { decision, question: 0 });
        assert.deepEqual([status, body], [200, { success: true }]);
        const event = await lastEvent(id);
        assert.deepEqual([event.source, event.action], ['user', 'change_agent_state']);
        assert.deepEqual(event.args, { agent_state: state, decision });
        const again = await confirm(id, { decision });
        assert.deepEqual([again.status, again.body.code], [409, 'nothing_to_confirm']);
      }
    });

    it('takes the action of older clients as an answer, 200', async () => {
      const id = await asking();
      const json = { action: 'change_agent_state', args: { agent_state: 'user_rejected' } };
      assert.equal((await service.ask(`${path}/${id}/events`, { json })).status, 200);
      assert.equal((await lastEvent(id)).args.agent_state, 'user_rejected');
    });

    it('takes one answer when several come at once', async () => {
      const id = await asking();
      const answers = await Promise.all(Array.from({ length: 8 }, () => confirm(id, { decision: 'allow' })));
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(409)]);
    });

    it('refuses an answer to another question, 409, a wrong one, 422, and that of somebody else, 404', async () => {
      const id = await asking();
      const { next_event: nextEvent } = (
        await inspect(service.storage, `select next_event from conversations where id = '${id}'`)
      )[0] as { next_event: unknown };
      assert.equal((await confirm(id, { decision: 'allow', question: 1 })).status, 409);
      for (const json of [
        {},
        { decision: 'maybe' },
        { decision: 'allow', question: -1 },
        { decision: 'allow', x: 1 },
      ])
        assert.equal((await confirm(id, json)).status, 422);
      const { body } = await service.ask('/api/keys', {
        json: { name: 'k', scopes: ['conversations:write'], user: `eve-${kind}` },
      });
      assert.equal((await confirm(id, { decision: 'allow' }, body.key)).status, 404);
      const [row] = await inspect(
        service.storage,
        `select next_event, question from conversations where id = '${id}'`,
      );
      assert.deepEqual([String(row?.['next_event']), Number(row?.['question'])], [String(nextEvent), 0]);
    });
  });
}
