// The examples of deploy/v0-web-ui with the real proxies: people sign in, the UI's files are served, and requests and
// sockets reach Parley with the key of the person.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { io } from 'socket.io-client';
import { freePort } from '../support/ports.ts';
import {
  caddy,
  createProxyFolder,
  nginx,
  type ReverseProxy,
  readExample,
  startReverseProxy,
} from '../support/reverseProxies.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const password = 'correct horse';
const authorization = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;

interface Setup {
  readonly folder: string;
  readonly ui: string;
  readonly port: number;
  readonly upstream: string;
  readonly key: string;
}

function nginxExample({ folder, ui, port, upstream, key }: Setup): string {
  const hash = execFileSync('openssl', ['passwd', '-apr1', password], { encoding: 'utf8' }).trim();
  writeFileSync(join(folder, 'passwords'), `ada:${hash}\n`);
  writeFileSync(join(folder, 'keys'), `ada "${key}";\n`);
  return readExample('v0-web-ui/nginx.conf', {
    '/etc/parley/keys': join(folder, 'keys'),
    '/etc/parley/passwords': join(folder, 'passwords'),
    '/srv/v0-web-ui;': `${ui};`,
    'listen 443;': `listen 127.0.0.1:${port};`,
    'server 127.0.0.1:3000;': `server ${upstream};`,
  });
}

function caddyExample({ ui, port, upstream, key }: Setup): string {
  const hash = execFileSync('caddy', ['hash-password', '--plaintext', password], { encoding: 'utf8' });
  return readExample('v0-web-ui/Caddyfile', {
    '\nparley.example.com {': `\nhttp://127.0.0.1:${port} {`,
    PASSWORD_HASH: hash.trim(),
    API_KEY: key,
    'reverse_proxy 127.0.0.1:3000': `reverse_proxy ${upstream}`,
    'root * /srv/v0-web-ui': `root * ${ui}`,
  });
}

async function startProxy(t: TestContext, proxy: ReverseProxy) {
  const folder = createProxyFolder(t);
  const ui = join(folder, 'ui');
  mkdirSync(join(ui, 'assets'), { recursive: true, mode: 0o755 });
  writeFileSync(join(ui, 'index.html'), '<!doctype html>the UI');
  writeFileSync(join(ui, 'assets/app.js'), 'app()');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startService({ env: { PARLEY_TRUST_PROXY: '127.0.0.1', PARLEY_PUBLIC_URL: url } }, t);
  const { body } = await service.ask('/api/keys', { json: { name: 'ada', user: 'ada' } });
  const setup = { folder, ui, port, upstream: new URL(service.url).host, key: body.key };
  const example = proxy === nginx ? nginxExample(setup) : caddyExample(setup);
  startReverseProxy(t, proxy, { folder, example });
  await until('the proxy listens', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return { url, service };
}

for (const proxy of [nginx, caddy])
  describe(`the example for ${proxy.name}`, { skip: proxy.missing }, () => {
    it('serves the UI, adds the key of the person who signed in, and passes sockets on', async (t) => {
      const { url, service } = await startProxy(t, proxy);
      const get = (path: string, headers: Record<string, string> = { authorization }) =>
        fetch(url + path, { headers });
      for (const path of ['/', '/api/settings', '/socket.io/?EIO=4&transport=polling'])
        assert.equal((await get(path, {})).status, 401, path);
      assert.equal(await (await get('/')).text(), '<!doctype html>the UI');
      assert.equal(await (await get('/conversations/123')).text(), '<!doctype html>the UI');
      assert.equal(await (await get('/assets/app.js')).text(), 'app()');
      const me = await (await get('/api/me')).json();
      assert.equal((me as { user: string }).user, 'ada');
      const asOther = await get('/api/me', { authorization, 'x-session-api-key': service.key });
      assert.equal(((await asOther.json()) as { user: string }).user, 'ada');

      const created = await fetch(`${url}/api/conversations`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', origin: url },
        body: JSON.stringify({ initial_user_msg: 'hello' }),
      });
      const { conversation_id: id } = (await created.json()) as { conversation_id: string };
      const received: { args?: { content?: string } }[] = [];
      const socket = io(url, {
        transports: ['websocket'],
        forceNew: true,
        extraHeaders: { authorization, origin: url },
        query: { conversation_id: id, latest_event_id: '-1', session_api_key: 'null' },
      });
      t.after(async () => void socket.disconnect());
      socket.on('oh_event', (event) => received.push(event));
      await until('the replay', () => received.some(({ args }) => args?.content === 'hello'));
      const info = (await (await get(`/api/conversations/${id}`)).json()) as { url: string };
      assert.equal(info.url, `${url}/api/conversations/${id}`);
    });
  });
