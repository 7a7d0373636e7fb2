import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openBench } from '../../../../test/support/tools.ts';
import { until } from '../../../../test/support/until.ts';
import { createFetchTool } from './fetchPage.ts';

async function open(t: TestContext, answer: RequestListener, answerMsMax?: number) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { run } = openBench(t, [createFetchTool(answerMsMax === undefined ? {} : { answerMsMax })]);
  return {
    origin,
    get: (path: string, signal?: AbortSignal) => run('fetch_page', { url: origin + path }, signal),
    run,
  };
}

describe('fetch_page', () => {
  it('returns HTML as text, in the encoding that the server or the page declares', async (t) => {
    const { get, origin } = await open(t, ({ url }, response) => {
      const named = url === '/named';
      response.setHeader('content-type', named ? 'text/html; charset=iso-8859-1' : 'text/html');
      const meta = named ? '' : '<meta charset="iso-8859-1">';
      response.end(Buffer.from(`${meta}<title>Caf\xe9</title><h1>Caf\xe9</h1><a href="/x">x</a>`, 'latin1'));
    });
    const text = (path: string) => `${origin}${path}\nCafé\n\n# Café\n\n[x](${origin}/x)`;
    assert.deepEqual(await get('/named'), { text: text('/named') });
    assert.deepEqual(await get('/meta'), { text: text('/meta') });
  });

  it('returns JSON and text unchanged', async (t) => {
    const { get, origin } = await open(t, ({ url }, response) => {
      response.setHeader('content-type', url === '/json' ? 'application/problem+json' : 'text/plain');
      response.end('{ "a": "<b>" }');
    });
    assert.equal((await get('/json')).text, `${origin}/json\n\n{ "a": "<b>" }`);
    assert.equal((await get('/text')).text, `${origin}/text\n\n{ "a": "<b>" }`);
  });

  it('follows a limited number of redirects, and only to the web', async (t) => {
    const { get, origin } = await open(t, ({ url = '' }, response) => {
      const left = Number(url.slice(1));
      if (url === '/file') response.writeHead(302, { location: 'file:///etc/passwd' }).end();
      else if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end('moved');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('here');
    });
    assert.equal((await get('/5')).text, `${origin}/0\n\nhere`);
    assert.deepEqual(await get('/6'), { text: `${origin}/6 redirects more than 5 times.`, failed: true });
    assert.match((await get('/file')).text, /^Only http and https can be fetched, not file:/);
  });

  it('fails with the status of the answer', async (t) => {
    const { get, origin } = await open(t, (_, response) => void response.writeHead(404).end('nothing'));
    assert.deepEqual(await get('/x'), {
      text: `${origin}/x answers with status 404 Not Found.`,
      failed: true,
    });
  });

  it('refuses anything that is not text', async (t) => {
    const { get, origin } = await open(t, ({ url }, response) => {
      response.setHeader('content-type', url === '/pdf' ? 'application/pdf' : 'text/plain');
      response.end(Buffer.from([1, 0, 2]));
    });
    assert.equal(
      (await get('/pdf')).text,
      `${origin}/pdf is application/pdf, which is no text. Save it with bash (curl -o) if you need it.`,
    );
    assert.match((await get('/binary')).text, /is binary\./);
  });

  it('reads no more than its limits, even of compressed data', async (t) => {
    const { get } = await open(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(20_000_000, 'x')));
    });
    const { text } = await get('/');
    assert.ok(text.length < 41_000);
    assert.match(text, /\[only its first 5000000 bytes were read\]\n\[cut here/);
  });

  it('does not wait forever for a response', async (t) => {
    const { get } = await open(t, () => {}, 100);
    const { text, failed } = await get('/');
    assert.match(text, /^127\.0\.0\.1:\d+ did not answer in 0\.1 s\.$/);
    assert.equal(failed, true);
  });

  it('returns the received part of a response that never ends', async (t) => {
    const answer: RequestListener = (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/plain' }).write('so far');
    const { get } = await open(t, answer, 1_000);
    assert.match((await get('/')).text, /\nso far\n\[the answer did not end in time/);
  });

  it('ends with the turn', async (t) => {
    let asked = false;
    const { get } = await open(t, (_, response) => {
      asked = true;
      response.writeHead(200, { 'content-type': 'text/plain' }).write('so far');
    });
    const turn = new AbortController();
    const getting = get('/', turn.signal);
    await until('the request', () => asked);
    turn.abort();
    assert.deepEqual(await getting, { text: 'Stopped by the user.', failed: true });
  });

  it('explains what is wrong with a URL', async (t) => {
    const { run } = await open(t, (_, response) => void response.end());
    const textFor = async (url: string) => (await run('fetch_page', { url })).text;
    assert.match(await textFor('example.com'), /is no URL\. Give all of it/);
    assert.match(await textFor('ftp://example.com/'), /Only http and https/);
    assert.match(
      await textFor('https://me:secret@example.com/'),
      /^A URL with a name or password in it is not fetched/,
    );
    assert.match(await textFor('http://127.0.0.1:1/'), /could not be fetched: /);
  });
});
