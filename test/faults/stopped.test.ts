import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Connection, openConnection } from '../support/connection.ts';
import { databaseKinds } from '../support/databases.ts';
import { holdCommits } from '../support/faults.ts';
import { storedTitles } from '../support/inspect.ts';
import { createSite, untilListening } from '../support/process.ts';
import { projectDir } from '../support/program.ts';
import { until, watch } from '../support/until.ts';

/** Less than the ten seconds after which the service cuts what is still open. */
const lingerMax = 5_000;

function head(url: string): string {
  return `GET /alive HTTP/1.1\r\nHost: ${new URL(url).host}\r\n`;
}

async function openIdle(url: string): Promise<Connection> {
  const connection = await openConnection(url);
  connection.send(`${head(url)}\r\n`);
  await until('the first answer', () => connection.received().includes('{"status":"ok"}'));
  assert.match(connection.received(), /^HTTP\/1\.1 200 /);
  return connection;
}

for (const kind of databaseKinds) {
  describe(`SIGTERM to a service on ${kind}`, { timeout: 240_000 }, () => {
    it('finishes the answer in flight, answers others meanwhile, is not ready, and ends with exit code 0', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve({ faults: kind === 'sqlite' });
      const held = await holdCommits(site, t);
      const answer = watch(service.ask('/api/conversations', { json: { initial_user_msg: 'in flight' } }));
      await held.reached();
      const idle = await openIdle(service.url);
      const begun = await openConnection(service.url);
      begun.send(head(service.url));
      // The service has read it: a later connection was answered.
      (await openIdle(service.url)).close();

      service.send('SIGTERM');
      await until('it begins to stop', () => service.stderr().includes('"msg":"stopping"'));
      begun.send('\r\n');
      await until('the request that had begun is answered', () => begun.closed());
      assert.match(begun.received(), /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);
      const ready = await service.ask('/ready');
      assert.deepEqual([ready.status, ready.body.code], [503, 'shutting_down']);
      assert.match(ready.headers.get('retry-after') ?? '', /^\d+$/);
      for (const path of ['/alive', '/health', '/api/settings']) {
        const { status, headers } = await service.ask(path);
        assert.deepEqual([status, headers.get('connection')], [200, 'close'], path);
      }

      service.send('SIGTERM');
      assert.equal(answer.settled(), false);
      await held.release();
      assert.equal((await answer.promise).status, 200);
      await until('the idle connection is closed', () => idle.closed());
      const { code, stderr } = await service.ended();
      assert.equal(code, 0, stderr);
      await assert.rejects(openConnection(service.url), { code: 'ECONNREFUSED' });
      assert.match(stderr, /"msg":"stopped"/);
      assert.deepEqual(await storedTitles(site.storage), ['in flight']);
    });

    it('closes the connection of the answer in flight with it, and does not wait for the client', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve({ faults: kind === 'sqlite' });
      const held = await holdCommits(site, t);
      const connection = await openConnection(service.url);
      connection.send(`POST /api/conversations HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\n`);
      connection.send(`X-Session-API-Key: ${service.key}\r\nContent-Length: 0\r\n\r\n`);
      await held.reached();
      service.send('SIGTERM');
      await until('it begins to stop', () => service.stderr().includes('"msg":"stopping"'));
      await held.release();
      await until('the answer', () => connection.received().includes('"conversation_status"'));
      assert.match(connection.received(), /^HTTP\/1\.1 200 /);
      assert.match(connection.received(), /\r\nconnection: close\r\n/i);
      await until('the connection is closed', () => connection.closed(), lingerMax);
      assert.equal((await service.ended()).code, 0);
    });
  });
}

describe('npm start', { timeout: 240_000 }, () => {
  it('passes SIGTERM on: the service ends with it and the data folder is free', async (t) => {
    const site = await createSite('sqlite', t);
    const npm = site.spawn('npm', ['start'], {
      ...site.environment(),
      PATH: `${join(projectDir, 'node_modules/.bin')}:${process.env['PATH']}`,
      npm_config_cache: site.createDir(),
      npm_config_update_notifier: 'false',
    });
    const url = await untilListening(npm);
    assert.equal((await fetch(`${url}/alive`)).status, 200);
    npm.send('SIGTERM');
    const { stderr } = await npm.ended();
    assert.match(stderr, /"msg":"stopped"/);
    await assert.rejects(fetch(`${url}/alive`));
    const next = await site.serve();
    assert.equal((await next.ask('/api/settings')).status, 200);
  });
});
