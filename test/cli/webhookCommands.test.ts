// `parley webhooks`, as a person runs it while the service runs and while it is stopped.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { createStorage, databaseKinds } from '../support/databases.ts';
import { mainFile } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

async function createBench(kind: DatabaseKind, t: TestContext) {
  const storage = await createStorage(kind);
  const receiver = await startReceiver(t);
  receiver.answer(() => 410);
  const service = await startService({ storage });
  t.after(async () => {
    await service.stop();
    await storage.remove();
  });
  const hook = { url: receiver.url, events: ['conversation.status'], description: 'chat bot' };
  const { id, secret } = (await service.ask('/api/webhooks', { json: hook })).body;
  for (let i = 0; i < 2; i++) await service.ask('/api/conversations', { json: {} });
  await until('both have failed', async () => {
    const { body } = await service.ask('/api/webhooks');
    return body.webhooks[0].failed === 2;
  });

  // Asynchronous, because the receiver in this process has to answer meanwhile.
  const withInput = (input: string, ...words: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      const env = {
        PATH: process.env['PATH'],
        PARLEY_DATA_DIR: storage.dataDir,
        // What counts is the environment of the service, which may reach the receiver.
        PARLEY_ALLOW_PRIVATE_ADDRESSES: '0',
        ...(storage.databaseUrl === undefined ? {} : { DATABASE_URL: storage.databaseUrl }),
      };
      const child = execFile(
        process.execPath,
        [mainFile, 'webhooks', ...words],
        { env },
        (_, stdout, stderr) => done({ code: child.exitCode ?? 1, stdout, stderr }),
      );
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
    });
  const parley = (...words: string[]) => withInput('', ...words);
  return { storage, receiver, service, id, secret, parley, withInput };
}

for (const kind of databaseKinds) {
  describe(`parley webhooks on ${kind}`, () => {
    it('lists webhooks and failed deliveries, without the secret and the URL', async (t) => {
      const { receiver, id, secret, parley } = await createBench(kind, t);
      const shown = await Promise.all([
        parley('list'),
        parley('list', '--user', 'owner', '--json'),
        parley('failed'),
        parley('failed', '--user', 'owner', '--json'),
      ]);
      for (const { code, stdout, stderr } of shown) {
        assert.equal(code, 0, stderr);
        assert.ok(stdout.includes(id), stdout);
        assert.ok(!stdout.includes('in-the-url') && !stdout.includes(secret), stdout);
      }
      const [listed, asJson, failed, failedAsJson] = shown.map(({ stdout }) => stdout);
      assert.match(
        String(listed),
        new RegExp(
          `^${id} +owner +${new URL(receiver.url).host} +parley +conversation.status +0 +2 .*chat bot$`,
          'm',
        ),
      );
      assert.equal(jsonLines(String(asJson))[0].failed, 2);
      assert.match(String(failed), /^msg_\S+ +wh_\S+ +owner +conversation\.status .* It responded with 410/m);
      assert.equal(jsonLines(String(failedAsJson)).length, 2);
      const help = await parley('--help');
      for (const word of ['create', 'list', 'delete', 'failed', 'redeliver'])
        assert.match(help.stdout, new RegExp(`^ {2}${word} `, 'm'));
    });

    it('redelivers one or all while the service runs', async (t) => {
      const { receiver, service, id, parley } = await createBench(kind, t);
      receiver.answer(() => 200);
      const [{ id: delivery }] = jsonLines((await parley('failed', '--json')).stdout);
      assert.match((await parley('redeliver', delivery)).stderr, /^1 delivery is pending again/);
      await until('one arrives', () => receiver.received.length === 3);
      assert.equal(receiver.received.at(-1)?.id, delivery);
      assert.match((await parley('redeliver', id)).stderr, /^1 delivery is pending again/);
      await until('the other arrives', () => receiver.received.length === 4);
      await until('nothing is left', async () => {
        const { body } = await service.ask(`/api/webhooks/${id}/deliveries`);
        return body.deliveries.length === 0;
      });
    });

    it('creates webhooks for programs and chat services, and deletes them', async (t) => {
      const { receiver, service, parley, withInput } = await createBench(kind, t);
      receiver.answer(() => 200);
      const chat = await withInput(
        receiver.url,
        'create',
        '--format',
        'slack',
        '--event',
        'conversation.status',
      );
      assert.equal(chat.code, 0, chat.stderr);
      const id = chat.stdout.trim();
      assert.match(id, /^wh_[0-9a-f]{32}$/);
      assert.ok(!(chat.stdout + chat.stderr).includes('in-the-url'));
      await service.ask('/api/conversations', { json: { initial_user_msg: 'hello' } });
      await until('it is told', () => receiver.received.some(({ body }) => body.text === 'Starting: hello'));
      const signed = await withInput(`${receiver.url}\n`, 'create', '--description', 'mine');
      assert.match(signed.stdout, /^whsec_\S+\n$/);
      const [, made = ''] = /webhook (wh_\w+)\./.exec(signed.stderr) ?? [];
      const listed = jsonLines((await parley('list', '--json')).stdout);
      assert.deepEqual(
        listed.slice(1).map(({ id: of, format, events, description }) => [of, format, events, description]),
        [
          [id, 'slack', ['conversation.status'], null],
          [made, 'parley', ['conversation.waiting'], 'mine'],
        ],
      );
      for (const one of [id, made]) assert.equal((await parley('delete', one)).code, 0);
      assert.equal(jsonLines((await parley('list', '--json')).stdout).length, 1);
      for (const [input, ...words] of [
        [''],
        ['CANARY'],
        ['http://169.254.169.254/CANARY'],
        [receiver.url, '--format', 'slack', '--event', 'conversation.event'],
        [receiver.url, '--format', 'fax'],
        [receiver.url, '--user', 'nobody'],
        [receiver.url, 'https://bot.example.com/CANARY'],
      ] as const) {
        const refused = await withInput(input, 'create', ...words);
        assert.equal(refused.code, 2, refused.stdout);
        assert.ok(!/CANARY|in-the-url/.test(refused.stderr), refused.stderr);
      }
    });

    it('works while the service is stopped, which redelivers when it starts', async (t) => {
      const { storage, receiver, service, id, parley } = await createBench(kind, t);
      await service.stop();
      receiver.answer(() => 200);
      assert.match((await parley('redeliver', id)).stderr, /^2 deliveries are pending again/);
      const next = await startService({ storage });
      await until('both arrive', () => receiver.received.length === 4);
      await next.stop();
    });
  });
}

describe('parley webhooks', () => {
  it('asks the service at PARLEY_URL, and shows neither the secret nor the URL', async (t) => {
    const { receiver, service, id, secret } = await createBench('sqlite', t);
    receiver.answer(() => 200);
    const line = createCommandLine(service, t, {
      PARLEY_KEY: service.key,
      PARLEY_DATA_DIR: join(service.storage.dataDir, 'none'),
    });
    const listed = await line.run(['webhooks', 'list', '--json']);
    assert.deepEqual([jsonLines(listed.stdout)[0].id, listed.stderr], [id, '']);
    assert.ok(!listed.stdout.includes('in-the-url') && !listed.stdout.includes(secret));
    const failed = jsonLines((await line.run(['webhooks', 'failed', '--json'])).stdout);
    assert.deepEqual([failed.length, failed[0].webhook_id], [2, id]);
    const one = await line.run(['webhooks', 'redeliver', failed[0].id]);
    assert.match(one.stderr, /^1 delivery is pending again/);
    assert.match((await line.run(['webhooks', 'redeliver', id])).stderr, /^1 delivery is pending again/);
    await until('both arrive', () => receiver.received.length === 4);
    assert.equal((await line.run(['webhooks', 'redeliver', 'msg_0'])).code, 2);
    const created = await line.run(['webhooks', 'create', '--format', 'ntfy'], receiver.url);
    assert.match(created.stdout, /^wh_\w+\n$/);
    assert.equal((await line.run(['webhooks', 'delete', created.stdout.trim()])).code, 0);
    assert.equal((await line.run(['webhooks', 'delete', created.stdout.trim()])).code, 2);
    assert.equal((await line.run(['webhooks', 'list', '--user', 'ada'])).code, 2);
  });

  it('refuses unknown ids and usage errors, exit code 2', async (t) => {
    const { parley } = await createBench('sqlite', t);
    const refused = await Promise.all([
      parley(),
      parley('show'),
      parley('redeliver'),
      parley('redeliver', 'wh_0'),
      parley('redeliver', 'a', 'b'),
      parley('list', '--user', 'nobody'),
      parley('failed', '--nonsense'),
    ]);
    for (const { code, stdout, stderr } of refused) {
      assert.equal(code, 2, stdout);
      assert.match(stderr, /^parley: /);
    }
  });
});
