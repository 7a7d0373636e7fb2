// The examples of deploy/v0-web-ui with the real proxies: people sign in, the UI's files are served, and requests and
// sockets reach Parley with the key of the person.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { io } from 'socket.io-client';
import { freePort } from '../support/ports.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const examples = new URL('../../deploy/v0-web-ui/', import.meta.url);
const password = 'correct horse';
const authorization = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;

interface Setup {
  readonly folder: string;
  readonly ui: string;
  readonly port: number;
  readonly upstream: string;
  readonly key: string;
}

interface Proxy {
  readonly name: string;
  readonly isInstalled: boolean;
  /** Writes the configuration, and returns the command that runs the proxy in the foreground. */
  prepare(setup: Setup): readonly string[];
}

function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((now, [from, to]) => {
    assert.ok(now.includes(from), from);
    return now.replaceAll(from, to);
  }, text);
}

const nginx: Proxy = {
  name: 'nginx',
  isInstalled: spawnSync('nginx', ['-v']).status === 0,
  prepare: ({ folder, ui, port, upstream, key }) => {
    const hash = execFileSync('openssl', ['passwd', '-apr1', password], { encoding: 'utf8' }).trim();
    writeFileSync(join(folder, 'passwords'), `ada:${hash}\n`);
    writeFileSync(join(folder, 'keys'), `ada "${key}";\n`);
    const example = replaceAll(readFileSync(new URL('nginx.conf', examples), 'utf8'), {
      '/etc/parley/keys': join(folder, 'keys'),
      '/etc/parley/passwords': join(folder, 'passwords'),
      '/srv/v0-web-ui;': `${ui};`,
      'listen 443;': `listen 127.0.0.1:${port};`,
      'server 127.0.0.1:3000;': `server ${upstream};`,
    });
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join('\n');
    const config = `daemon off;\nuser root;\npid ${join(folder, 'pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${example}}\n`;
    writeFileSync(join(folder, 'nginx.conf'), config);
    return ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')];
  },
};

const caddy: Proxy = {
  name: 'Caddy',
  isInstalled: spawnSync('caddy', ['version']).status === 0,
  prepare: ({ folder, ui, port, upstream, key }) => {
    const hash = execFileSync('caddy', ['hash-password', '--plaintext', password], {
      encoding: 'utf8',
    }).trim();
    const example = replaceAll(readFileSync(new URL('Caddyfile', examples), 'utf8'), {
      '\nparley.example.com {': `\nhttp://127.0.0.1:${port} {`,
      PASSWORD_HASH: hash,
      API_KEY: key,
      'reverse_proxy 127.0.0.1:3000': `reverse_proxy ${upstream}`,
      'root * /srv/v0-web-ui': `root * ${ui}`,
    });
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${example}`);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  },
};

async function startProxy(t: TestContext, proxy: Proxy) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-proxy-'));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  const ui = join(folder, 'ui');
  mkdirSync(join(ui, 'assets'), { recursive: true });
  writeFileSync(join(ui, 'index.html'), '<!doctype html>the UI');
  writeFileSync(join(ui, 'assets/app.js'), 'app()');
  for (const one of [folder, ui]) chmodSync(one, 0o755);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startService({ env: { PARLEY_TRUST_PROXY: '127.0.0.1', PARLEY_PUBLIC_URL: url } }, t);
  const { body } = await service.ask('/api/keys', { json: { name: 'ada', user: 'ada' } });
  const [command = '', ...args] = proxy.prepare({
    folder,
    ui,
    port,
    upstream: new URL(service.url).host,
    key: body.key,
  });
  const child = spawn(command, args, {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  t.after(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
  });
  await until('the proxy listens', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return { url, service };
}

for (const proxy of [nginx, caddy])
  describe(`the example for ${proxy.name}`, {
    skip: proxy.isInstalled ? false : `${proxy.name} is not installed`,
  }, () => {
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
