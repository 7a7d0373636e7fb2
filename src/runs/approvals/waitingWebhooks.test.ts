// `conversation.waiting`, from an agent that asks or ends its turn to the server that is told.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows } from '../../../test/support/inspect.ts';
import { startReceiver } from '../../../test/support/receiver.ts';
import { startRuns, type TestEvent } from '../../../test/support/runs.ts';
import { until } from '../../../test/support/until.ts';
import type { DatabaseKind } from '../../db/transaction.ts';

const publicUrl = 'https://parley.example.com';
const secret = 'canary-of-a-secret-value';

async function setUp(kind: DatabaseKind, t: TestContext, format = 'parley') {
  const env = { PARLEY_PUBLIC_URL: publicUrl, PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' };
  const runs = await startRuns({ kind, settings: { confirmation_mode: true }, env }, t);
  const receiver = await startReceiver(t);
  const { ask } = runs.service;
  await ask('/api/secrets', { json: { name: 'TOKEN', value: secret } });
  const created = await ask('/api/webhooks', {
    json: { url: receiver.url, events: ['conversation.waiting'], format },
  });
  assert.equal(created.status, 201, created.text);
  const asked = (id: string) =>
    until('it asks', async () =>
      (await runs.events(id)).find(
        ({ args }: TestEvent) => args?.['confirmation_state'] === 'awaiting_confirmation',
      ),
    );
  return { runs, receiver, webhook: created.body.id as string, asked };
}

for (const kind of databaseKinds) {
  describe(`conversation.waiting on ${kind}`, () => {
    it('is sent once for an approval request and once at the end of a turn, without secrets', async (t) => {
      const { runs, receiver, asked } = await setUp(kind, t);
      const id = await runs.create(`ask execute echo ${secret}`);
      const request = await asked(id);
      await until('it is told', () => receiver.received.length === 1);
      const { title } = (await runs.service.ask(`/api/conversations/${id}`)).body;
      const [approval] = receiver.received;
      const { at, ...data } = approval?.body.data ?? {};
      assert.equal(approval?.body.type, 'conversation.waiting');
      assert.equal(new Date(at).toISOString(), at);
      assert.deepEqual(data, {
        conversation_id: id,
        waits_for: 'approval',
        title,
        event_id: request.id,
        message: request.message,
        url: `${publicUrl}/conversations/${id}`,
      });
      assert.ok(request.message.includes('echo') && !request.message.includes(secret), request.message);
      await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'allow' } });
      await runs.turns(id, 1);
      await until('the end is told', () => receiver.received.length === 2);
      const said = (await runs.events(id)).filter(
        ({ source, action }) => source === 'agent' && action === 'message',
      );
      const last = receiver.received[1]?.body.data;
      assert.deepEqual(
        [last.waits_for, last.event_id, last.message],
        ['answer', said.at(-1)?.id, said.at(-1)?.message],
      );
      await runs.say(id, 'say more');
      await until('the next end is told', () => receiver.received.length === 3);
      assert.equal(receiver.received[2]?.body.data.message, 'more');
      for (const { text } of receiver.received) assert.ok(!text.includes(secret));
    });

    it('is written for people in the format of a chat service', async (t) => {
      const { runs, receiver, asked } = await setUp(kind, t, 'mattermost');
      const id = await runs.create('ask execute curl https://evil.example @channel');
      await asked(id);
      await until('it is told', () => receiver.received.length === 1);
      const { text } = receiver.received[0]?.body ?? {};
      assert.match(text, /^\*\*Approval needed: /);
      assert.ok(text.endsWith(`[Open the conversation](${publicUrl}/conversations/${id})`), text);
      assert.ok(text.includes('@\u200bchannel') && !text.includes('https://evil'), text);
    });

    it('is not sent for a turn that its user has cancelled, also if the agent goes on', async (t) => {
      const { runs, receiver } = await setUp(kind, t);
      const id = await runs.create('hang');
      const states = async () => (await runs.events(id)).map(({ extras }) => extras?.['agent_state']);
      await until('it works', async () => (await states()).includes('running'));
      await runs.service.ask(`/api/conversations/${id}/cancel`, { method: 'POST' });
      await until('it waits', async () => (await states()).at(-1) === 'awaiting_user_input', 30_000);
      await runs.say(id, 'say more');
      await until('the next end is told', () => receiver.received.length > 0, 30_000);
      await until('nothing is left', async () => (await countRows(runs.service.storage, 'deliveries')) === 0);
      assert.deepEqual(
        receiver.received.map(({ body }) => body.data.message),
        ['more'],
      );
    });

    it('is discarded with its conversation', async (t) => {
      const { runs, receiver, webhook, asked } = await setUp(kind, t);
      receiver.answer(() => 503);
      const id = await runs.create('ask execute rm one');
      await asked(id);
      const deliveries = async () =>
        (await runs.service.ask(`/api/webhooks/${webhook}/deliveries`)).body.deliveries;
      await until('an attempt fails', async () => (await deliveries())[0]?.last_status === 503);
      await runs.service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
      assert.deepEqual(await deliveries(), []);
    });
  });
}
