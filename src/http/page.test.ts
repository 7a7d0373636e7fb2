// The web UI is served from the folder that the build creates.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { startService } from '../../test/support/service.ts';
import { sendError } from './errors.ts';
import { pageRoutes } from './page.ts';
import type { Server } from './routeTable.ts';

function servePage(t: TestContext, files: Record<string, string | Uint8Array>) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-page-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'assets'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const app = Fastify();
  app.setErrorHandler(sendError);
  pageRoutes(app as unknown as Server, pathToFileURL(`${folder}/`));
  return (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
}

const index = '<!doctype html><title>Parley</title>';
const script = 'console.log("page");';
const files = {
  'index.html': index,
  'assets/index-abc123.js': script,
  'assets/index-abc123.js.gz': gzipSync(script),
};

describe('GET / and the other paths of the web UI', () => {
  it('return the web UI with a strict Content-Security-Policy, which browsers revalidate, 200', async (t) => {
    const get = servePage(t, files);
    for (const path of ['/', '/conversations/some-id', '/settings', '/settings/model']) {
      const { statusCode, body, headers } = await get(path);
      assert.equal(statusCode, 200);
      assert.equal(body, index);
      assert.equal(headers['cache-control'], 'no-cache');
      assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'self';/);
      assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|https?:|\*/);
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    }
  });

  it('return 304 if the web UI has not changed', async (t) => {
    const get = servePage(t, files);
    const { headers } = await get('/');
    assert.equal((await get('/', { 'if-none-match': String(headers['etag']) })).statusCode, 304);
    assert.equal((await get('/', { 'if-none-match': '"another"' })).statusCode, 200);
  });

  it('say that the web UI is not built, 503', async (t) => {
    const get = servePage(t, {});
    const { statusCode, body } = await get('/');
    assert.equal(statusCode, 503);
    assert.match(body, /^The web UI is not built\. Run "npm run build"/);
  });
});

describe('GET /assets/…', () => {
  it('returns a compressed file if the client accepts it, to be cached forever', async (t) => {
    const get = servePage(t, files);
    const small = await get('/assets/index-abc123.js', { 'accept-encoding': 'br;q=0, gzip' });
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(small.rawPayload).toString(), script);
    assert.match(String(small.headers['cache-control']), /immutable/);
    assert.equal(small.headers['vary'], 'Accept-Encoding');
    // There is no Brotli file, and the service does not create one.
    const plain = await get('/assets/index-abc123.js', { 'accept-encoding': 'br' });
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.body, script);
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
  });

  it('returns no other file, 404', async (t) => {
    const get = servePage(t, files);
    for (const name of [
      'none.js',
      '..%2findex.html',
      '%2e%2e%2findex.html',
      '.hidden.js',
      'index-abc123.js.gz',
    ])
      assert.equal((await get(`/assets/${name}`)).statusCode, 404, name);
  });
});

describe('the service', () => {
  it('serves its API next to the web UI', async (t) => {
    const service = await startService({}, t);
    const page = await service.ask('/', { key: null });
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
    assert.equal((await service.ask('/', { key: null, method: 'HEAD' })).status, 200);
    assert.equal((await service.ask('/', { key: null, method: 'POST' })).status, 405);
    const unknown = await service.ask('/api/nothing');
    assert.equal(unknown.status, 404);
    assert.equal(unknown.body.code, 'not_found');
    assert.equal((await service.ask('/assets/none.js')).body.code, 'not_found');
    assert.equal((await service.ask('/conversations/a/b')).status, 404);
  });
});
