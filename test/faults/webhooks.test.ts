import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { countRows, inspect } from '../support/inspect.ts';
import { createSite, type Service, type Site } from '../support/process.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

const arrivesWithinMs = 30_000;
const events = ['conversation.status', 'conversation.event'];

/** `conversation_id type event` of each message that must arrive. */
async function expectedMessages({ storage }: Site): Promise<Set<string>> {
  const rows = await inspect(
    storage,
    `select c.id, cast(e.id as integer) as event from conversations c join event_log e on e.conversation_key = c.key`,
  );
  return new Set(
    rows.flatMap(({ id, event }) => [`${id} conversation.event ${event}`, `${id} conversation.status`]),
  );
}

function arrived({ received }: Receiver): Set<string> {
  return new Set(
    received.map(({ body: { type, data } }) =>
      [data.conversation_id, type, ...(data.event === undefined ? [] : [data.event.id])].join(' '),
    ),
  );
}

/** Leases of the killed process end, as they would in a minute. */
async function endLeases({ storage }: Site): Promise<void> {
  await inspect(storage, 'update deliveries set next_at = 0');
}

async function create(service: Service, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { status, text } = await service.ask('/api/conversations', { json: { initial_user_msg: `m${i}` } });
    assert.equal(status, 200, text);
  }
}

async function watch(service: Service, { url }: Receiver): Promise<void> {
  const { status, text } = await service.ask('/api/webhooks', { json: { url, events } });
  assert.equal(status, 201, text);
}

async function untilAllArrive(site: Site, receiver: Receiver): Promise<void> {
  const expected = await expectedMessages(site);
  assert.ok(expected.size > 0);
  await until('every message arrives', () => expected.isSubsetOf(arrived(receiver)), arrivesWithinMs);
  await until('the outbox is empty', async () => (await countRows(site.storage, 'deliveries')) === 0);
  assert.deepEqual(arrived(receiver), expected);
}

for (const kind of databaseKinds) {
  describe(`webhooks on ${kind}`, { timeout: 300_000 }, () => {
    it('get every message after a kill while the receiver hangs', async (t) => {
      const site = await createSite(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => new Promise(() => {}));
      const service = await site.serve();
      await watch(service, receiver);
      await create(service, 10);
      await until('some are under way', () => receiver.received.length >= 4);
      service.send('SIGKILL');
      await service.ended();
      assert.ok((await countRows(site.storage, 'deliveries')) >= 20);
      receiver.answer(() => 200);
      await endLeases(site);
      await site.serve();
      await untilAllArrive(site, receiver);
    });

    it('get every message of what was answered before a kill at any moment', async (t) => {
      const site = await createSite(kind, t);
      const receiver = await startReceiver(t);
      for (let round = 0; round < 3; round++) {
        const service = await site.serve();
        if (round === 0) await watch(service, receiver);
        await endLeases(site);
        const before = receiver.received.length;
        const creating = create(service, 200).catch(() => {});
        await until('messages come', () => receiver.received.length > before + 5);
        service.send('SIGKILL');
        await creating;
        await service.ended();
      }
      await endLeases(site);
      await site.serve();
      await untilAllArrive(site, receiver);
    });

    it('get the messages under way before a stop comes to its end', async (t) => {
      const site = await createSite(kind, t);
      const receiver = await startReceiver(t);
      const release = Promise.withResolvers<number>();
      receiver.answer(() => release.promise);
      const service = await site.serve();
      await watch(service, receiver);
      await create(service, 1);
      await until('messages are under way', () => receiver.received.length >= 2);
      service.send('SIGTERM');
      release.resolve(200);
      const { code, stderr } = await service.ended();
      assert.equal(code, 0, stderr);
      assert.equal(stderr.includes('in-the-url'), false);
      const answered = new Set(receiver.received.map(({ id }) => id));
      const left = await inspect(site.storage, 'select id from deliveries');
      assert.deepEqual(
        left.filter(({ id }) => answered.has(String(id))),
        [],
      );
      await endLeases(site);
      await site.serve();
      await untilAllArrive(site, receiver);
    });
  });
}
