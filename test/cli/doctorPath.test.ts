// `parley doctor` on the way to a service: TLS, and proxies that do not pass everything on.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { findings, listen, statesOf } from '../support/doctor.ts';
import { startService } from '../support/service.ts';

const poorBodyBytesMax = 1_000_000;

/** A proxy that collects responses, knows no WebSockets and accepts bodies of 1 MB only. */
async function startPoorProxy(t: TestContext, target: string): Promise<string> {
  const server = createHttpServer(({ method = '', url = '', headers }, response) => {
    if (Number(headers['content-length'] ?? 0) > poorBodyBytesMax) return void response.writeHead(413).end();
    const { connection, upgrade, 'content-length': length, ...passed } = headers;
    void fetch(target + url, {
      method,
      headers: { ...(passed as Record<string, string>), 'x-forwarded-for': '198.51.100.1' },
    }).then(async (answer) => {
      const text = await answer.text();
      response
        .writeHead(answer.status, { 'content-type': String(answer.headers.get('content-type')) })
        .end(text);
    });
  });
  return `http://127.0.0.1:${await listen(t, server)}`;
}

/** A proxy with a certificate that is valid for five days, which nobody has signed. */
async function startTlsProxy(t: TestContext, target: string) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  t.after(async () => rmSync(folder, { recursive: true }));
  const [keyFile, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', keyFile, '-out', certificate];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '5', ...names, ...files],
    {
      stdio: 'ignore',
    },
  );
  const options = { key: readFileSync(keyFile), cert: readFileSync(certificate) };
  const server = createHttpsServer(options, (asked, response) => {
    const { method, url, headers } = asked;
    asked.pipe(
      request(target + url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  server.on('upgrade', (_asked, socket) => socket.destroy());
  return { url: `https://localhost:${await listen(t, server)}`, certificate };
}

/** A proxy that answers some requests itself, and passes the others on. */
async function startProxy(
  t: TestContext,
  target: string,
  answers: (...args: Parameters<RequestListener>) => boolean,
): Promise<string> {
  const server = createHttpServer((asked, response) => {
    if (answers(asked, response)) return;
    const { method, url, headers } = asked;
    const passed = request(target + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    asked.pipe(passed);
  });
  server.on('upgrade', (_asked, socket) => socket.destroy());
  return `http://127.0.0.1:${await listen(t, server)}`;
}

const isStream = (url = '') => url.startsWith('/api/events/stream');

describe('parley doctor on the way to a service', () => {
  it('names what a proxy does not pass on, and what the service should know of it, 1', async (t) => {
    const service = await startService({}, t);
    const proxied = await startPoorProxy(t, service.url);
    const found = findings(
      await createCommandLine({ ...service, url: proxied }, t).run(['doctor', '--json']),
    );
    const states = statesOf(found);
    assert.deepEqual(
      ['tls', 'proxy', 'streams', 'sockets', 'bodies'].map((check) => states[check]),
      ['ok', 'note', 'wrong', 'wrong', 'wrong'],
    );
    assert.match(String(found.get('proxy')?.remedy), /PARLEY_TRUST_PROXY/);
    assert.match(String(found.get('bodies')?.remedy), /client_max_body_size/);
    const { body } = await service.ask('/api/conversations');
    assert.deepEqual(body.results, [], 'nothing was created');
  });

  it('finds nothing wrong on the way to a service without a proxy', async (t) => {
    const service = await startService({}, t);
    const states = statesOf(findings(await createCommandLine(service, t).run(['doctor', '--json'])));
    assert.deepEqual(
      ['tls', 'proxy', 'streams', 'sockets', 'bodies'].map((check) => states[check]),
      ['ok', undefined, 'ok', 'ok', 'ok'],
    );
  });

  it('says why a certificate is not accepted, and until when an accepted one is valid', async (t) => {
    const service = await startService({}, t);
    const { url, certificate } = await startTlsProxy(t, service.url);
    const run = async (env: Record<string, string>) =>
      findings(await createCommandLine({ ...service, url }, t, env).run(['doctor', '--json']));
    const refused = await run({});
    assert.match(String(refused.get('tls')?.message), /self-signed certificate/);
    assert.match(String(refused.get('tls')?.remedy), /NODE_EXTRA_CA_CERTS/);
    const accepted = (await run({ NODE_EXTRA_CA_CERTS: certificate })).get('tls');
    // It is short-lived and new, so that there is nothing to do.
    assert.deepEqual(accepted?.state, 'ok');
    assert.match(String(accepted?.message), /is valid for \d more days \(TLSv1\.3\)/);
  });

  it('tells answers of a proxy from those of the service, 1', async (t) => {
    const service = await startService({}, t);
    const url = await startProxy(t, service.url, ({ method, url: asked }, response) => {
      if (method !== 'POST' && !isStream(asked)) return false;
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
      return true;
    });
    const found = findings(await createCommandLine({ ...service, url }, t).run(['doctor', '--json']));
    assert.equal(found.get('bodies')?.state, 'wrong');
    assert.match(String(found.get('bodies')?.message), /^A request of 15 MB was answered with 502, and not/);
    assert.equal(found.get('streams')?.state, 'wrong');
    assert.equal(found.get('streams')?.message, 'A stream was answered with 502, and not by the service.');
    assert.doesNotMatch(String(found.get('streams')?.remedy), /buffering/);
  });

  it('does not blame buffering for a connection that is cut, or a page instead of a stream, 1', async (t) => {
    const service = await startService({}, t);
    const run = async (answers: Parameters<typeof startProxy>[2]) => {
      const url = await startProxy(t, service.url, answers);
      return findings(await createCommandLine({ ...service, url }, t).run(['doctor', '--json']));
    };
    const cut = await run(({ method, url, socket }) => {
      if (method !== 'POST' && !isStream(url)) return false;
      socket.destroy();
      return true;
    });
    assert.match(
      String(cut.get('streams')?.message),
      /^A stream was interrupted: (UND_ERR_SOCKET|ECONNRESET)\.$/,
    );
    assert.match(String(cut.get('bodies')?.message), /does not reach the service: \w+\.$/);
    const page = await run(({ url }, response) => {
      if (!isStream(url)) return false;
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>');
      return true;
    });
    assert.match(String(page.get('streams')?.message), /with the content type text\/html, and not by/);
    assert.equal(page.get('bodies')?.state, 'ok');
  });

  it('does not take a refusal of the service for a good answer, and names the scope', async (t) => {
    const service = await startService({}, t);
    const scopes = ['settings:read'];
    const { body } = await service.ask('/api/keys', { json: { name: 'reader', scopes } });
    const found = findings(
      await createCommandLine(service, t, { PARLEY_KEY: body.key }).run(['doctor', '--json']),
    );
    assert.deepEqual(
      ['streams', 'bodies'].map((check) => [found.get(check)?.state, found.get(check)?.remedy]),
      [
        ['note', 'Use an API key with the scope conversations:read.'],
        ['note', 'Use an API key with the scope conversations:write.'],
      ],
    );
  });
});
