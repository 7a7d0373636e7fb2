import assert from 'node:assert/strict';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { type Received, startReceiver } from '../../test/support/receiver.ts';
import { until } from '../../test/support/until.ts';
import {
  createWebhookBench,
  fail,
  untilEmpty,
  untilFailed,
  untilReceived,
} from '../../test/support/webhookBench.ts';
import { openConfiguredDatabase } from '../database.ts';
import { keyIdOf } from '../encryption/encrypt.ts';
import { rotate } from '../encryption/rotation.ts';
import { ensureUser } from '../users/store.ts';
import { retryDelayMs } from './delivery.ts';

/** Written from the specification, not from our code. */
function verify(secret: string, { headers, text }: Received): boolean {
  const key = Buffer.from(secret.split('_')[1] ?? '', 'base64');
  const content = [headers['webhook-id'], headers['webhook-timestamp'], text].join('.');
  const expected = createHmac('sha256', key).update(content).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => signature.split(','))
    .some(
      ([version, given = '']) => version === 'v1' && timingSafeEqual(Buffer.from(given, 'base64'), expected),
    );
}

describe('the delay before another attempt', () => {
  const times = { firstRetryMs: 5_000, retryMaxMs: 21_600_000 };

  it('doubles from 5 s up to 6 h', () => {
    const middle = () => 0.5;
    const delays = [1, 2, 3, 4, 14, 1_000].map((attempts) => retryDelayMs(attempts, times, middle) / 1_000);
    assert.deepEqual(delays, [5, 10, 20, 40, 21_600, 21_600]);
  });

  it('is spread by a fifth either way', () => {
    assert.equal(Math.round(retryDelayMs(1, times, () => 0)), 4_000);
    assert.equal(Math.round(retryDelayMs(1, times, () => 1)), 6_000);
  });
});

for (const kind of databaseKinds) {
  describe(`messages to webhooks on ${kind}`, () => {
    it('send the status and each event, signed, and are gone when they have arrived', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const { secret } = await bench.watch(receiver.url, ['conversation.status', 'conversation.event']);
      bench.startLoop();
      const { conversation_id } = await bench.say('hello');
      await untilEmpty(bench);

      const { received } = receiver;
      const ofType = (type: string) => received.filter(({ body }) => body.type === type);
      const [status] = ofType('conversation.status');
      assert.equal(ofType('conversation.status').length, 1);
      assert.equal(status?.body.data.conversation_id, conversation_id);
      assert.equal(status?.body.data.status, 'STARTING');
      const stored = await inspect(bench.storage, 'select json from event_log order by id');
      const events = ofType('conversation.event').map(({ body }) => body.data);
      assert.ok(stored.length > 0);
      assert.deepEqual(
        events.sort((a, b) => a.event.id - b.event.id),
        stored.map(({ json }) => ({ conversation_id, event: JSON.parse(String(json)) })),
      );
      for (const message of received) {
        assert.ok(verify(secret, message));
        assert.ok(!verify(secret, { ...message, text: `${message.text} ` }));
        assert.match(message.id, /^msg_[0-9a-f]{32}$/);
        assert.equal(message.headers['content-type'], 'application/json');
        assert.match(String(message.headers['user-agent']), /^Parley\/\d/);
        assert.equal(new Date(message.body.timestamp).toISOString(), message.body.timestamp);
        assert.deepEqual(Object.keys(message.body), ['type', 'timestamp', 'data']);
      }
      assert.equal(new Set(received.map(({ id }) => id)).size, received.length);
    });

    it('go only to webhooks of the same user that want them', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const other = await bench.database.run(ensureUser, 'ada');
      const [mine, unwanted, foreign] = [
        await startReceiver(t),
        await startReceiver(t),
        await startReceiver(t),
      ];
      await bench.watch(mine.url, ['conversation.status']);
      await bench.watch(unwanted.url, ['conversation.event']);
      await bench.webhooks.create(
        { ...bench.principal, userId: other.id },
        { url: foreign.url, events: ['conversation.status', 'conversation.event'] },
      );
      bench.startLoop();
      await bench.say('hello');
      await untilEmpty(bench);
      assert.deepEqual(
        mine.received.map(({ body }) => body.type),
        ['conversation.status'],
      );
      assert.deepEqual(
        new Set(unwanted.received.map(({ body }) => body.type)),
        new Set(['conversation.event']),
      );
      assert.equal(foreign.received.length, 0);
    });

    it('try again under the same id until they arrive', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => (receiver.received.length < 4 ? 503 : 200));
      await bench.watch(receiver.url, ['conversation.status']);
      bench.startLoop();
      await bench.say('hello');
      await untilEmpty(bench);
      assert.equal(receiver.received.length, 4);
      assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1);
    });

    it('tell what happened at the last attempt, without the URL', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const [failing, hanging] = [await startReceiver(t), await startReceiver(t)];
      failing.answer(() => 302);
      hanging.answer(() => new Promise(() => {}));
      const redirects = await bench.watch(failing.url, ['conversation.status']);
      const stopped = await startReceiver(t);
      await stopped.stop();
      const absent = await bench.watch(stopped.url, ['conversation.status']);
      const times = { firstRetryMs: 60_000 };
      const loop = bench.startLoop({ times });
      await bench.say('hello');
      const errorOf = (id: string) =>
        until('an attempt fails', async () => (await bench.list(id))[0]?.last_error ?? undefined);
      assert.equal(await errorOf(redirects.id), 'It returned a redirect, which is not followed.');
      assert.equal(await errorOf(absent.id), 'It does not accept connections.');
      // A loop of its own, because the others may be slow to answer.
      await loop.close();
      const hangs = await bench.watch(hanging.url, ['conversation.status']);
      bench.startLoop({ timeoutMs: 1_000, times });
      await bench.say('hello again');
      assert.equal(await errorOf(hangs.id), 'It did not respond within 1 s.');
      const [shown] = await bench.list(hangs.id);
      assert.equal(shown?.state, 'waiting');
      assert.equal(shown?.attempts, 1);
      assert.equal(shown?.last_status, null);
      assert.ok(Date.parse(String(shown?.next_attempt_at)) > Date.parse(String(shown?.created_at)));
      assert.ok(!JSON.stringify(shown).includes('in-the-url'));
    });

    it('are given up after their time, and sent again when asked for', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => 500);
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      const hourMs = 3_600_000;
      bench.startLoop({ times: { giveUpAfterMs: hourMs } });
      await bench.say('hello');
      await untilReceived(receiver, 2);
      await inspect(bench.storage, `update deliveries set since = since - ${hourMs}`);
      const failed = await untilFailed(bench, id);
      assert.ok(failed.attempts >= 2);
      assert.equal(failed.last_status, 500);
      assert.equal(failed.last_error, 'It responded with 500.');
      assert.equal(failed.next_attempt_at, null);
      const before = receiver.received.length;
      receiver.answer(() => 200);
      assert.equal(await bench.webhooks.redeliver(bench.principal, id, failed.id), 1);
      await untilEmpty(bench);
      assert.equal(receiver.received.length, before + 1);
      assert.equal(receiver.received.at(-1)?.id, failed.id);
    });

    it('are written for people in the format of a chat service, and retried like all others', async (t) => {
      const bench = await createWebhookBench(kind, t);
      for (const format of ['slack', 'mattermost', 'discord', 'teams', 'ntfy'] as const) {
        const receiver = await startReceiver(t);
        receiver.answer(() => (receiver.received.length < 2 ? 503 : 200));
        const events = ['conversation.status' as const];
        const { id } = await bench.webhooks.create(bench.principal, { url: receiver.url, events, format });
        bench.startLoop();
        await bench.say(`hello from ${format}`);
        await untilEmpty(bench);
        const [first, again] = receiver.received;
        assert.equal(receiver.received.length, 2);
        assert.deepEqual([again?.id, again?.text], [first?.id, first?.text]);
        assert.match(
          format === 'ntfy' ? String(first?.text) : JSON.stringify(first?.body),
          new RegExp(`Starting: hello from ${format}`),
        );
        await bench.webhooks.remove(bench.principal, id);
      }
    });

    it('go to the hidden URL of a chat service after the encryption key was rotated', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const events = ['conversation.status' as const];
      await bench.webhooks.create(bench.principal, { url: receiver.url, events, format: 'discord' });
      const beside = await openConfiguredDatabase(bench.storage, fail);
      bench.closers.push(beside.close);
      await rotate({ database: beside, dataDir: bench.storage.dataDir, secretKeys: [] });
      bench.startLoop();
      await bench.say('hello');
      await untilEmpty(bench);
      assert.equal(receiver.received[0]?.body.content, '**Starting: hello**');
    });

    it('are given up at once where the receiver says 410', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => 410);
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      bench.startLoop();
      await bench.say('hello');
      const failed = await untilFailed(bench, id);
      assert.equal(failed.attempts, 1);
      assert.equal(failed.last_status, 410);
      assert.equal(receiver.received.length, 1);
    });

    it('fail with the reason where the secret cannot be opened', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      await inspect(bench.storage, "update webhooks set sealed = substr(sealed, 1, 40) || 'AAAA'");
      bench.startLoop();
      await bench.say('hello');
      const { last_error } = await untilFailed(bench, id);
      assert.equal(last_error, 'Its signing secret cannot be decrypted; create a new webhook.');
      assert.equal(receiver.received.length, 0);
    });

    it('reach no private address where that is not allowed', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const { id } = await bench.watch(receiver.url, ['conversation.status']);
      bench.startLoop({ allowPrivate: false, times: { firstRetryMs: 60_000 } });
      await bench.say('hello');
      const error = await until(
        'an attempt fails',
        async () => (await bench.list(id))[0]?.last_error ?? undefined,
      );
      assert.match(error, /^Its address is private/);
      assert.equal(receiver.received.length, 0);
    });

    it('are signed with the same secret after the sealing key was rotated', async (t) => {
      const bench = await createWebhookBench(kind, t);
      const receiver = await startReceiver(t);
      const before = await bench.watch(receiver.url, ['conversation.status']);
      const beside = await openConfiguredDatabase(bench.storage, fail);
      bench.closers.push(beside.close);
      await rotate({ database: beside, dataDir: bench.storage.dataDir, secretKeys: [] });
      const after = await bench.watch(receiver.url, ['conversation.status']);
      const sealed = await inspect(bench.storage, 'select sealed from webhooks');
      assert.equal(new Set(sealed.map((row) => keyIdOf(String(row['sealed'])))).size, 1);
      bench.startLoop();
      await bench.say('hello');
      await untilEmpty(bench);
      const { received } = receiver;
      assert.equal(received.length, 2);
      for (const { secret } of [before, after])
        assert.equal(received.filter((message) => verify(secret, message)).length, 1);
    });
  });
}
