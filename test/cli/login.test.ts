// `parley login`, `contexts` and `logout`: named services with their API keys.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findKey, serviceAddress } from '../../src/cli/connection/connection.ts';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { startService } from '../support/service.ts';

async function begin(t: TestContext) {
  const service = await startService({}, t);
  const home = join(service.storage.dataDir, 'home');
  const file = join(home, 'parley/contexts.json');
  // Empty variables count as absent.
  const env = { PARLEY_URL: '', PARLEY_DATA_DIR: '', XDG_CONFIG_HOME: home };
  const lineWith = (more: Record<string, string>) => createCommandLine(service, t, { ...env, ...more });
  return { service, file, env, line: lineWith({}), lineWith };
}

describe('parley login', () => {
  it('checks the API key, stores it for the user alone, and later commands use it', async (t) => {
    const { service, file, line } = await begin(t);
    const { body: ada } = await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } });
    const loggedIn = await line.run(['login', '--name', 'work', service.url], `${ada.key}\n`);
    assert.equal(loggedIn.code, 0, loggedIn.stderr);
    assert.match(loggedIn.stderr, /You are logged in to \S+ as ada\. The current context is work\./);
    assert.deepEqual([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777], [0o600, 0o700]);
    assert.equal((await line.run(['new', '--id', 'mine', 'Hello'])).code, 0);
    const { body } = await service.ask('/api/conversations', { key: ada.key });
    assert.equal(body.results[0].conversation_id, 'mine');
    assert.equal((await line.run(['settings', 'set', 'llm_model', 'openai/x'])).code, 0);
    assert.equal((await service.ask('/api/settings', { key: ada.key })).body.llm_model, 'openai/x');
    for (const words of [['contexts'], ['contexts', '--json'], ['doctor']]) {
      const { stdout, stderr } = await line.run(words);
      assert.ok(!(stdout + stderr).includes(ada.key), words.join(' '));
    }
  });

  it('stores nothing if the service refuses the key, exit code 4, and never prints it', async (t) => {
    const { service, file, line } = await begin(t);
    const refused = await line.run(['login', service.url], 'pk_wrong-key');
    assert.deepEqual([refused.code, /refuses this API key/.test(refused.stderr)], [4, true]);
    assert.ok(!refused.stderr.includes('pk_wrong-key'));
    const unreachable = await line.run(['login', 'http://127.0.0.1:9'], 'pk_some-key');
    assert.deepEqual(
      [unreachable.code, /127\.0\.0\.1:9: .*cannot be reached/.test(unreachable.stderr)],
      [4, true],
    );
    assert.match((await line.run(['login', service.url], '')).stderr, /The API key is empty/);
    assert.equal(existsSync(file), false);
  });

  it('takes no key as an argument, exit code 2', async (t) => {
    const { service, line } = await begin(t);
    const { code, stderr } = await line.run(['login', service.url, service.key]);
    assert.deepEqual([code, stderr.includes(service.key)], [2, false]);
  });

  it('reports a damaged file and does not replace it, exit code 2', async (t) => {
    const { service, file, line } = await begin(t);
    assert.equal((await line.run(['login', service.url], service.key)).code, 0);
    writeFileSync(file, '{"contexts": [');
    for (const words of [['login', service.url], ['list'], ['contexts']]) {
      const { code, stderr } = await line.run(words, service.key);
      assert.deepEqual([code, /contexts\.json is damaged/.test(stderr)], [2, true], words.join(' '));
    }
    assert.equal(readFileSync(file, 'utf8'), '{"contexts": [');
  });
});

describe('parley contexts and logout', () => {
  it('list, switch and remove contexts', async (t) => {
    const { service, line } = await begin(t);
    const host = new URL(service.url).host;
    for (const words of [
      ['login', service.url],
      ['login', '--name', 'b', service.url],
    ])
      assert.equal((await line.run(words, service.key)).code, 0);
    const current = async () =>
      jsonLines((await line.run(['contexts', '--json'])).stdout).map(({ name, current: is }) => [name, is]);
    assert.deepEqual(await current(), [
      ['local', false],
      [host, false],
      ['b', true],
    ]);
    assert.match((await line.run(['contexts'])).stdout, /^ +CONTEXT +URL\n +local +this machine\n/);
    assert.equal((await line.run(['contexts', host])).code, 0);
    assert.equal((await line.run(['contexts', 'nonsense'])).code, 2);
    assert.equal((await line.run(['logout', 'b'])).code, 0);
    assert.deepEqual((await current()).at(-1), [host, true]);
    assert.match((await line.run(['logout'])).stderr, /are removed\. The key is still valid/);
    assert.deepEqual(await current(), [['local', true]]);
    const none = await line.run(['logout']);
    assert.deepEqual([none.code, /You are not logged in/.test(none.stderr)], [2, true]);
    assert.equal((await line.run(['logout', 'local'])).code, 2);
  });
});

describe('the current context', () => {
  it('gives way to every variable that names a service, a key or data', async (t) => {
    const { service, env, line, lineWith } = await begin(t);
    assert.equal((await line.run(['login', service.url], service.key)).code, 0);
    const keyWith = (more: Record<string, string>) => {
      const merged = { ...env, ...more };
      return findKey(serviceAddress(merged), merged);
    };
    assert.deepEqual([serviceAddress(env).url, keyWith({})], [service.url, service.key]);
    for (const more of [
      { PARLEY_URL: 'http://127.0.0.1:1' },
      { PORT: '1' },
      { PARLEY_KEY: 'other' },
      { PARLEY_DATA_DIR: '/nowhere' },
      { DATABASE_URL: 'postgres://localhost/x' },
    ])
      assert.notEqual(keyWith(more), service.key, JSON.stringify(more));
    const other = lineWith({ PARLEY_URL: service.url, PARLEY_KEY: 'wrong-key' });
    assert.equal((await other.run(['list'])).code, 4);
    assert.match((await other.run(['contexts', 'local'])).stderr, /not used while PARLEY_URL is set/);
  });

  it('keeps its key from a server to which the service redirects', async (t) => {
    const { service, line, file } = await begin(t);
    assert.equal((await line.run(['login', service.url], service.key)).code, 0);
    const keys: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      keys.push(request.headers['x-session-api-key'] as string | undefined);
      response.end('{}');
    });
    const redirecting = createServer((_, response) =>
      response.writeHead(307, { location: urlOf(elsewhere) }).end(),
    );
    for (const server of [elsewhere, redirecting]) {
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      t.after(() => void server.close());
    }
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(service.url, urlOf(redirecting)));
    const { code } = await line.run(['list']);
    assert.deepEqual([code, keys], [4, []]);
  });

  it('on another machine keeps commands from the local database, exit code 2', async (t) => {
    const { service, line, file } = await begin(t);
    assert.equal((await line.run(['login', '--name', 'far', service.url], service.key)).code, 0);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(service.url, 'https://parley.invalid'));
    const { code, stderr } = await line.run(['audit']);
    assert.deepEqual([code, /the current context "far" names another machine/.test(stderr)], [2, true]);
  });
});

function urlOf(server: ReturnType<typeof createServer>): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
