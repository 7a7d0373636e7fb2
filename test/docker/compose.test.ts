// deploy/compose.yaml with a real engine and real Docker Compose: API, worker, PostgreSQL, and Caddy with TLS.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Agent, fetch } from 'undici';
import { parleyImage } from '../support/dockerImages.ts';
import { freePort } from '../support/ports.ts';
import { projectDir } from '../support/program.ts';
import { caddy } from '../support/reverseProxies.ts';
import { createRunsClient } from '../support/runs.ts';
import type { Answer, Ask } from '../support/service.ts';
import { until } from '../support/until.ts';
import { engine, skip } from './setup.ts';
import { buildCaddy, buildPostgres, caddyImage, postgresImage } from './standIns.ts';

const startWithinMs = 60_000;

function findMissing(): string | false {
  if (skip !== false) return skip;
  if (caddy.missing !== false) return caddy.missing;
  const { stdout } = spawnSync('docker', ['compose', 'version', '--short'], {
    env: engine().env,
    encoding: 'utf8',
  });
  return /^v?[2-9]/.test(stdout ?? '') ? false : 'Docker Compose 2 is not installed';
}

/** Starts all services, and ends them with the test. */
async function startAll(t: TestContext) {
  const port = await freePort();
  const variables = {
    PARLEY_DOMAIN: 'localhost',
    PARLEY_SECRET_KEY: randomBytes(32).toString('hex'),
    POSTGRES_PASSWORD: randomBytes(16).toString('hex'),
    PARLEY_IMAGE: parleyImage,
    POSTGRES_IMAGE: postgresImage,
    CADDY_IMAGE: caddyImage,
    HTTP_PORT: `127.0.0.1:${await freePort()}`,
    HTTPS_PORT: `127.0.0.1:${port}`,
  };
  const folder = mkdtempSync(join(tmpdir(), 'parley-compose-'));
  const file = join(folder, 'env');
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(''));
  const project = ['--file', join(projectDir, 'deploy/compose.yaml'), '--env-file', file];
  const compose = (...args: readonly string[]) => engine().docker('compose', ...project, ...args);
  t.after(async () => {
    await compose('down', '--volumes', '--timeout', '5');
    rmSync(folder, { recursive: true });
  });
  await compose('up', '--detach', '--wait');
  return { compose, url: `https://localhost:${port}` };
}

type Send = (path: string, asked?: Ask) => Promise<Answer>;

/** Sends requests through Caddy, whose certificate is checked. */
function createSend(t: TestContext, url: string, key: string, certificate: string): Send {
  const dispatcher = new Agent({ connect: { ca: certificate } });
  t.after(() => dispatcher.destroy());
  return async (path, { json, method = json === undefined ? 'GET' : 'POST' } = {}) => {
    const headers = { 'x-session-api-key': key, 'content-type': 'application/json' };
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const response = await fetch(url + path, { dispatcher, method, headers, ...body });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return {
      status: response.status,
      headers: new Headers([...response.headers]),
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
}

describe('the compose file', { skip: findMissing() }, () => {
  it('runs a conversation on the worker, and serves it and the web UI over TLS', async (t) => {
    await Promise.all([buildPostgres(engine()), buildCaddy(engine())]);
    const { compose, url } = await startAll(t);
    const inside = (service: string, ...command: readonly string[]) =>
      compose('exec', '--no-TTY', service, ...command);
    const certificate = await until(
      'Caddy has a certificate',
      () => inside('caddy', 'cat', '/data/caddy/pki/authorities/local/root.crt').catch(() => undefined),
      startWithinMs,
    );
    const key = (await inside('api', 'cat', '/data/owner.key')).trim();
    const send = createSend(t, url, key, certificate);
    const page = await until('Caddy answers', () => send('/').catch(() => undefined), startWithinMs);
    assert.match(page.text, /<div id="page">/);

    const worker = JSON.parse(await inside('worker', 'curl', '-s', 'http://127.0.0.1:3000/server_info'));
    assert.deepEqual([worker.sandbox, worker.seccomp, worker.role], ['bubblewrap', true, 'worker']);
    const { create, turns, events } = createRunsClient(send);
    const id = await create('hello');
    await turns(id, 1);
    assert.match(JSON.stringify(await events(id)), /No model is set/);
    // The API asks the worker for files, under the name of its container.
    const { status, body } = await send(`/api/conversations/${id}/list-files`);
    assert.deepEqual([status, Array.isArray(body)], [200, true]);
  });
});
