// The examples of deploy/ for reverse proxies, with the real proxies and TLS: streams, sockets, large bodies and uploads
// pass through them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Agent, fetch } from 'undici';
import { WebSocket } from 'ws';
import { bodyBytesMax, mib } from '../../src/validation/schema.ts';
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
import { multipartBody, multipartType } from '../support/uploads.ts';

interface Setup {
  readonly folder: string;
  readonly port: number;
  readonly upstream: string;
}

interface Prepared {
  readonly example: string;
  readonly env?: Record<string, string>;
  /** The certificate to trust, which may be created later. */
  readonly certificate: string;
}

function prepareNginx({ folder, port, upstream }: Setup): Prepared {
  const [certificate, key] = [join(folder, 'parley.pem'), join(folder, 'parley.key')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  });
  const example = readExample('nginx.conf', {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    '/etc/ssl/parley.pem': certificate,
    '/etc/ssl/private/parley.key': key,
    'server 127.0.0.1:3000;': `server ${upstream};`,
  });
  return { example, certificate };
}

function prepareCaddy({ folder, port, upstream }: Setup): Prepared {
  return {
    example: readExample('Caddyfile', {}),
    env: { PARLEY_DOMAIN: `https://localhost:${port}`, PARLEY_UPSTREAM: upstream },
    // It signs certificates for localhost itself.
    certificate: join(folder, 'caddy/pki/authorities/local/root.crt'),
  };
}

async function start(t: TestContext, proxy: ReverseProxy) {
  const folder = createProxyFolder(t);
  const port = await freePort();
  const url = `https://localhost:${port}`;
  const service = await startService({ env: { PARLEY_TRUST_PROXY: '127.0.0.1', PARLEY_PUBLIC_URL: url } }, t);
  const setup = { folder, port, upstream: new URL(service.url).host };
  const { example, env = {}, certificate } = proxy === nginx ? prepareNginx(setup) : prepareCaddy(setup);
  startReverseProxy(t, proxy, { folder, example, env });
  const dispatcher = await until('the proxy listens', async () => {
    try {
      const agent = new Agent({ connect: { ca: readFileSync(certificate) } });
      await fetch(`${url}/alive`, { dispatcher: agent });
      return agent;
    } catch {
      return false;
    }
  });
  t.after(() => dispatcher.destroy());
  const { key } = service;
  const send = (
    path: string,
    body?: string | Buffer,
    { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ) =>
    fetch(url + path, {
      dispatcher,
      ...(signal === undefined ? {} : { signal }),
      headers: { 'x-session-api-key': key, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
  const create = async () => {
    const answer = await send('/api/conversations', JSON.stringify({ initial_user_msg: 'hello' }));
    return ((await answer.json()) as { conversation_id: string }).conversation_id;
  };
  return { url, key, certificate, send, create };
}

for (const proxy of [nginx, caddy])
  describe(`the example of a reverse proxy with ${proxy.name}`, { skip: proxy.missing }, () => {
    it('serves the API under the public URL', async (t) => {
      const { url, send, create } = await start(t, proxy);
      const id = await create();
      const info = (await (await send(`/api/conversations/${id}`)).json()) as { url: string };
      assert.equal(info.url, `${url}/api/conversations/${id}`);
    });

    it('passes events on as they come', async (t) => {
      const { send, create } = await start(t, proxy);
      const id = await create();
      const leaving = new AbortController();
      const { body } = await send(`/api/conversations/${id}/events/stream`, undefined, {
        signal: leaving.signal,
      });
      assert.ok(body !== null);
      let text = '';
      const reading = (async () => {
        for await (const piece of body) text += Buffer.from(piece).toString();
      })().catch(() => {});
      await until('the first message', () => text.includes('"hello"'));
      await send(`/api/conversations/${id}/message`, JSON.stringify({ message: 'and a second one' }));
      await until('the second message, while the stream is open', () => text.includes('and a second one'));
      leaving.abort();
      await reading;
    });

    it('passes WebSockets on', async (t) => {
      const { url, key, certificate } = await start(t, proxy);
      const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, {
        headers: { 'X-Session-API-Key': key },
        ca: readFileSync(certificate),
      });
      t.after(async () => socket.terminate());
      await once(socket, 'open');
      const params = { protocolVersion: 1, clientCapabilities: {} };
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
      const [message] = await once(socket, 'message');
      assert.equal(JSON.parse(String(message)).result.protocolVersion, 1);
    });

    it('passes the largest bodies and uploads on', async (t) => {
      const { send, create } = await start(t, proxy);
      const body = JSON.stringify({ ignored: 'x'.repeat(bodyBytesMax - 1_000) });
      assert.equal((await send('/api/settings', body)).status, 200);
      const id = await create();
      const files = multipartBody([['large.bin', Buffer.alloc(40 * mib, 1)]]);
      const uploaded = await send(`/api/conversations/${id}/files`, files, { headers: multipartType });
      assert.equal(uploaded.status, 200);
      assert.match(await uploaded.text(), /large\.bin/);
    });
  });
