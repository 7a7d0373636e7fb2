// A message is in the log once, however often the request is sent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connect, connectThrough, hasCode } from '../../test/support/client.ts';
import { until, watch } from '../../test/support/until.ts';
import { createParley } from './parley.ts';

describe('a message of the client', () => {
  it('is in the log once if the responses to the first attempts are lost, and returns its event', async (t) => {
    const { service, proxy, parley } = await connectThrough(t);
    const { body } = await service.ask('/api/conversations', { json: {} });
    const id = body.conversation_id;
    // Long enough for the request to arrive, but too short for its response.
    proxy.cutAfter(1);
    const sending = watch(parley.conversations.message(id, 'Once'));
    await until('a second try', () => proxy.made() >= 2);
    assert.equal(sending.settled(), false);
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    const { event_id } = await sending.promise;
    const { events } = await createParley({ url: service.url, key: service.key }).conversations.events(id);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'action.message' ? [[event.id, event.args.content]] : [])),
      [[event_id, 'Once']],
    );
  });

  it('has a key of its own unless one is given', async (t) => {
    const { parley } = await connect(t);
    const { conversation_id: id } = await parley.conversations.create({});
    const { message } = parley.conversations;
    const own = [await message(id, 'Same'), await message(id, 'Same')];
    assert.notEqual(own[0]?.event_id, own[1]?.event_id);
    const given = { idempotencyKey: 'mail-7' };
    assert.deepEqual(await message(id, 'Given', given), await message(id, 'Given', given));
    await assert.rejects(message(id, 'Another', given), hasCode('idempotency_key_reused'));
  });
});
