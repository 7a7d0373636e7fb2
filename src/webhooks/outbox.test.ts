import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import {
  createWebhookBench,
  fail,
  untilEmpty,
  untilReceived,
  type WebhookBench,
} from '../../test/support/webhookBench.ts';
import { deleteConversation, startConversation } from '../conversations/lifecycle/store.ts';
import { openConfiguredDatabase } from '../database.ts';
import { ensureUser } from '../users/store.ts';
import { longestDelaysMs } from './delivery.ts';
import { readOutboxAge } from './outboxAge.ts';
import { adjustDue, claimDeliveries, listDue, recordFailedAttempt } from './outboxStore.ts';

/** Messages that have waited long, the same number for each webhook of the user. */
async function addBacklog(
  { storage }: WebhookBench,
  userId: number,
  count: number,
  dueAt = 1,
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => `select ${i} as n`).join(' union all ');
  await inspect(
    storage,
    `insert into deliveries (id, webhook_id, user_id, conversation_key, conversation_id, type, payload, created_at,
       state, since, attempts, next_at)
     select 'msg_' || id || '_' || n, id, user_id, 1, 'old', 'conversation.status', '{}', 1, 'waiting', 1, 0, ${dueAt} + n
     from webhooks cross join (${numbers}) as numbers where user_id = ${userId}`,
  );
}

/** The numbers of the events that messages for the webhook tell, in the order of the messages. */
async function madeFor(bench: WebhookBench, webhookId: string): Promise<number[]> {
  const made = (await bench.rows()).filter(({ webhook_id }) => webhook_id === webhookId);
  return made.map((row) => Number(row['event_id']));
}

for (const kind of databaseKinds) {
  describe(`deliveries on ${kind}`, () => {
    it('are sent after the lease of a process that claimed them and died', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      await bench.say('hello');
      const claim = { webhooks: [{ id, max: 4 }], leaseMs: 60_000 };
      assert.equal((await bench.database.run(claimDeliveries, claim)).length, 1);
      assert.equal((await bench.database.run(claimDeliveries, claim)).length, 0);
      assert.deepEqual(await bench.database.run(listDue, 10), []);
      await inspect(bench.storage, 'update deliveries set next_at = 1');
      bench.startLoop();
      await untilEmpty(bench);
      assert.equal(receiver.received.length, 1);
    });

    it('have an age, and are overdue if nobody sends them in time', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const age = () => bench.database.run(readOutboxAge, null);
      assert.deepEqual(await age(), { oldestMs: 0, overdueMs: 0 });
      for (const host of ['a', 'b']) await bench.watch(`https://${host}.invalid/`, ['conversation.status']);
      await bench.say('hello');
      const [first, second] = (await bench.rows()) as { id: string }[];
      const hourMs = 3_600_000;
      const now = Date.now();
      const set = (id: string | undefined, values: string) =>
        inspect(bench.storage, `update deliveries set ${values} where id = '${id}'`);
      await set(first?.id, `created_at = ${now - 3 * hourMs}, next_at = ${now + hourMs}`);
      await set(second?.id, `created_at = ${now - hourMs}, next_at = ${now - hourMs / 2}`);
      const { oldestMs, overdueMs } = await age();
      assert.deepEqual([Math.floor(oldestMs / hourMs), Math.floor((2 * overdueMs) / hourMs)], [3, 1]);
      await set(second?.id, "state = 'failed'");
      assert.equal((await age()).overdueMs, 0);
    });

    it('are sent where the clock was set back by hours, before a start or after it', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      await bench.watch(receiver.url, ['conversation.status']);
      const ahead = () =>
        inspect(bench.storage, `update deliveries set next_at = next_at + ${2 * 3_600_000}`);
      await bench.say('before the start');
      await ahead();
      const loop = bench.startLoop();
      await untilReceived(receiver, 1);
      await untilEmpty(bench);
      await addBacklog(bench, bench.principal.userId, 1, Date.now() + 2 * 3_600_000);
      loop.onClockSet();
      await untilReceived(receiver, 2);
    });

    it('are retried no later than their longest delay after the clock was set back', async (t) => {
      const bench = await createWebhookBench(kind, t);
      await bench.watch('https://bot.invalid/', ['conversation.status']);
      for (const message of ['new', 'tried once', 'tried often', 'in time']) await bench.say(message);
      const now = Date.now();
      const minuteMs = 60_000;
      const times = { firstRetryMs: 5_000, retryMaxMs: 360 * minuteMs, leaseMs: minuteMs };
      const put = async (n: number, attempts: number, aheadMs: number) => {
        const { id } = ((await bench.rows())[n] ?? {}) as { id: string };
        await inspect(
          bench.storage,
          `update deliveries set attempts = ${attempts}, next_at = ${now + aheadMs} where id = '${id}'`,
        );
      };
      await put(0, 0, 30_000);
      await put(1, 1, 2 * minuteMs);
      await put(2, 20, 24 * 60 * minuteMs);
      await put(3, 20, 300 * minuteMs);
      const adjustment = { delaysMsMax: longestDelaysMs(times), leaseMs: times.leaseMs, max: 2 };
      assert.equal(await bench.database.run(adjustDue, adjustment), 2);
      assert.equal(await bench.database.run(adjustDue, adjustment), 1);
      assert.equal(await bench.database.run(adjustDue, adjustment), 0);
      const minutes = (await bench.rows()).map((row) =>
        Math.round((Number(row['next_at']) - now) / minuteMs),
      );
      assert.deepEqual(minutes, [0, 1, 1, 300]);
    });

    it('stay with who claimed them last, whatever an earlier one says', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const { id } = await bench.watch('https://bot.invalid/', ['conversation.status']);
      await bench.say('hello');
      const claim = (leaseMs: number) =>
        bench.database.run(claimDeliveries, { webhooks: [{ id, max: 1 }], leaseMs });
      const [early] = await claim(-1);
      const [late] = await claim(60_000);
      assert.equal(late?.id, early?.id);
      assert.equal(late?.attempts, 2);
      const report = {
        id: String(late?.id),
        status: 500,
        error: 'It responded with 500.',
        giveUpAfterMs: 60_000,
      };
      for (const retryAfterMs of [0, null])
        await bench.database.run(recordFailedAttempt, {
          ...report,
          retryAfterMs,
          leasedUntil: Number(early?.leased_until),
        });
      const [row] = await bench.rows();
      assert.equal(row?.['state'], 'waiting');
      assert.equal(Number(row?.['next_at']), late?.leased_until);
      assert.equal(row?.['last_error'], null);
    });

    it('are never sent by two processes at once', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const underWay = new Set<string>();
      const twice: string[] = [];
      receiver.answer(async ({ id }) => {
        if (underWay.has(id)) twice.push(id);
        underWay.add(id);
        await new Promise((done) => setTimeout(done, 5));
        underWay.delete(id);
        return 200;
      });
      for (let i = 0; i < 4; i++) await bench.watch(receiver.url, ['conversation.status']);
      for (let i = 0; i < 20; i++) await bench.say(`message ${i}`);
      const second = kind === 'sqlite' ? bench.database : await openConfiguredDatabase(bench.storage, fail);
      bench.closers.push(second.close);
      bench.startLoop();
      bench.startLoop({ on: second });
      await untilEmpty(bench);
      assert.deepEqual(twice, []);
      assert.equal(receiver.received.length, 80);
      assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 80);
    });

    it('of a receiver that hangs do not hold up the others, and are four at a time', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const [hanging, good] = [await startReceiver(t), await startReceiver(t)];
      const release = Promise.withResolvers<number>();
      hanging.answer(() => release.promise);
      await bench.watch(hanging.url, ['conversation.status']);
      for (let i = 0; i < 30; i++) await bench.say(`message ${i}`);
      bench.startLoop();
      await untilReceived(hanging, 4);
      await bench.watch(good.url, ['conversation.status']);
      for (let i = 0; i < 10; i++) await bench.say(`more ${i}`);
      await untilReceived(good, 10);
      assert.equal(hanging.received.length, 4);
      release.resolve(200);
      await untilEmpty(bench);
      assert.equal(hanging.received.length, 40);
      assert.equal(good.received.length, 10);
    });

    it('of a user whose twenty receivers hang do not hold up those of another user', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const [hanging, good] = [await startReceiver(t), await startReceiver(t)];
      hanging.answer(() => new Promise(() => {}));
      const other = { ...bench.principal, userId: (await bench.database.run(ensureUser, 'ada')).id };
      for (let i = 0; i < 20; i++)
        await bench.webhooks.create(other, { url: hanging.url, events: ['conversation.status'] });
      await addBacklog(bench, other.userId, 5);
      bench.startLoop({ timeoutMs: 60_000 });
      await untilReceived(hanging, 8);
      await bench.watch(good.url, ['conversation.status']);
      for (let i = 0; i < 10; i++) await bench.say(`message ${i}`);
      await untilReceived(good, 10);
      assert.equal(hanging.received.length, 8);
      assert.equal(new Set(hanging.received.map(({ id }) => id.split('_')[2])).size, 8);
    });

    it('that are due are listed with the first webhook of each user before the second of any', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const users = [bench.principal.userId];
      for (const name of ['ada', 'bob', 'eve']) users.push((await bench.database.run(ensureUser, name)).id);
      const [first = 0, ...others] = users;
      for (const userId of users)
        for (let i = 0; i < (userId === first ? 1 : 5); i++)
          await bench.webhooks.create(
            { ...bench.principal, userId },
            { url: 'https://bot.invalid/', events: ['conversation.status'] },
          );
      for (const userId of others) await addBacklog(bench, userId, 3);
      await bench.say('hello');
      const due = await bench.database.run(listDue, 5);
      assert.equal(due.length, 5);
      assert.deepEqual(new Set(due.slice(0, 4).map(({ user_id }) => user_id)), new Set(users));
      assert.equal(due[3]?.user_id, first, 'it has waited the shortest');
      assert.ok(others.includes(Number(due[4]?.user_id)));
    });

    it('of events go with a conversation that is deleted, those of its status stay', async (t) => {
      const bench = await createWebhookBench(kind, t);
      await bench.watch('https://bot.invalid/', ['conversation.status', 'conversation.event']);
      const kept = await bench.say('kept');
      const { conversation_id: id } = await bench.say('deleted');
      const typesOf = async (conversation: string) =>
        (await bench.rows())
          .filter((row) => row['conversation_id'] === conversation)
          .map((row) => String(row['type']));
      assert.ok((await typesOf(id)).includes('conversation.event'));
      const { userId } = bench.principal;
      await bench.database.run(deleteConversation, { userId, id, at: new Date().toISOString() });
      assert.deepEqual(await typesOf(id), ['conversation.status', 'conversation.status']);
      assert.ok((await typesOf(kept.conversation_id)).includes('conversation.event'));
    });

    it('of events whose conversation is gone are dropped unsent', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      await bench.watch(receiver.url, ['conversation.status', 'conversation.event']);
      await bench.say('hello');
      await inspect(bench.storage, "update conversations set id = 'another one'");
      bench.startLoop();
      await untilEmpty(bench);
      assert.deepEqual(
        receiver.received.map(({ body }) => body.type),
        ['conversation.status'],
      );
    });

    it('that are under way at the end are broken off and sent again by the next process', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => new Promise(() => {}));
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      const loop = bench.startLoop({ times: { closeGraceMs: 20 } });
      await bench.say('hello');
      await untilReceived(receiver, 1);
      await loop.close();
      const [left] = await bench.list(id);
      assert.equal(left?.last_error, 'The service stopped before it answered.');
      receiver.answer(() => 200);
      bench.startLoop();
      await untilEmpty(bench);
      assert.equal(receiver.received.length, 2);
    });

    it('that failed are forgotten in the end', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => 410);
      await bench.watch(receiver.url, ['conversation.status']);
      bench.startLoop({ times: { failedKeptMs: 100, purgeEveryMs: 20 } });
      for (let i = 0; i < 3; i++) await bench.say(`message ${i}`);
      await untilReceived(receiver, 3);
      await untilEmpty(bench);
    });

    it('of a webhook that is deleted go with it', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const gone = await bench.watch(receiver.url, ['conversation.status', 'conversation.event']);
      const kept = await bench.watch(receiver.url, ['conversation.status']);
      await bench.say('hello');
      await bench.webhooks.remove(bench.principal, gone.id);
      const left = await bench.rows();
      assert.deepEqual(
        left.map(({ webhook_id }) => webhook_id),
        [kept.id],
      );
    });

    it('whose webhook is gone, because its deletion was interrupted, are cleared away at once', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const [lost, good] = [await startReceiver(t), await startReceiver(t)];
      const { userId } = bench.principal;
      for (let i = 0; i < 3; i++) await bench.watch(lost.url, ['conversation.status']);
      await addBacklog(bench, userId, 400);
      await inspect(bench.storage, 'delete from webhooks');
      await bench.watch(good.url, ['conversation.status']);
      await bench.say('hello');
      // Without another look after the first there would be one in an hour.
      bench.startLoop({ times: { pollMs: 3_600_000 } }).wake();
      await untilEmpty(bench);
      assert.equal(lost.received.length, 0);
      assert.equal(good.received.length, 1);
    });

    it('are made for each event and webhook, however many come at once', async (t) => {
      const bench = await createWebhookBench(kind, t);
      for (let i = 0; i < 3; i++) await bench.watch('https://bot.example.com', ['conversation.event']);
      const { conversation_id: id } = await bench.say('hello');
      const message = Array.from({ length: 211 }, (_, i) => `{"message":"event ${i}"}`);
      const { userId } = bench.principal;
      await bench.database.run(startConversation, {
        userId,
        id,
        waking: [],
        waitingMax: 0,
        message,
        at: 'now',
      });
      const events = await inspect(bench.storage, 'select id from event_log order by id');
      assert.ok(events.length > message.length);
      for (const webhook of await bench.webhooks.list(bench.principal))
        assert.deepEqual(
          await madeFor(bench, webhook.id),
          events.map((row) => Number(row['id'])),
        );
    });

    it('are not made for events that are replayed', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const { id } = await bench.watch('https://bot.example.com', ['conversation.event']);
      const replay = [0, 1, 2].map((i) => ({ action: 'message', message: `event ${i}` }));
      await bench.say('hello', JSON.stringify(replay));
      const events = await inspect(bench.storage, 'select id from event_log order by id');
      assert.ok(events.length > replay.length);
      assert.deepEqual(
        await madeFor(bench, id),
        events.slice(replay.length).map((row) => Number(row['id'])),
      );
    });
  });
}
