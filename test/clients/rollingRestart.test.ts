// Two processes behind a load balancer that looks at /ready are restarted one after the other. No request fails, and
// nobody who follows a conversation misses an event.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createParley } from '../../src/client/parley.ts';
import { freePort } from '../support/ports.ts';
import type { Service } from '../support/process.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const skip = spawnSync('caddy', ['version']).status === 0 ? false : 'caddy is not installed';
const drainS = 2;
const healthMs = 200;
const restartWithinMs = 60_000;

async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/ready`).catch(() => undefined))?.ok === true;
}

async function start(t: TestContext) {
  const { site, serve } = await createWorkerSite('postgres', t);
  const [port, ...ports] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PARLEY_DRAIN_S: String(drainS),
    PARLEY_PUBLIC_URL: url,
    PARLEY_TRUST_PROXY: '127.0.0.1',
    PARLEY_RATE_LIMIT: '0',
    PARLEY_CREATE_LIMIT: '0',
  };
  const begin = (own: number) => serve({ ...env, PORT: String(own) });
  const services = new Map<number, Service>();
  for (const own of ports) services.set(own, await begin(own));
  const folder = site.createDir();
  const upstreams = ports.map((own) => `127.0.0.1:${own}`).join(' ');
  writeFileSync(
    join(folder, 'Caddyfile'),
    `{\n\tadmin off\n}\n${url} {\n\treverse_proxy ${upstreams} {\n\t\thealth_uri /ready\n\t\thealth_interval ${healthMs}ms\n\t\tflush_interval -1\n\t}\n}\n`,
  );
  const home = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  site.spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], home);
  await until('the balancer listens', () => isReady(url), restartWithinMs);
  const restart = async (own: number) => {
    const service = services.get(own);
    assert.ok(service !== undefined);
    service.send('SIGTERM');
    assert.equal((await service.ended()).code, 0, service.stderr());
    services.set(own, await begin(own));
    await until('it is ready', () => isReady(`http://127.0.0.1:${own}`), restartWithinMs);
    // The balancer has to see it, too, before the other one goes.
    await pause(healthMs * 5);
  };
  const key = [...services.values()][0]?.key ?? '';
  return { url, key, ports, restart };
}

describe('a rolling restart', { skip, timeout: 300_000 }, () => {
  it('fails no request and loses no event', async (t) => {
    const { url, key, ports, restart } = await start(t);
    const headers = { 'x-session-api-key': key, 'content-type': 'application/json' };
    await fetch(`${url}/api/settings`, { method: 'POST', headers, body: JSON.stringify({ agent: 'fake' }) });
    const parley = createParley({ url, key });
    const { conversation_id: id } = await parley.conversations.create({ initial_user_msg: 'say hello' });
    const following = new AbortController();
    const seen: number[] = [];
    const follower = (async () => {
      for await (const event of parley.events(id, { signal: following.signal })) seen.push(event.id);
    })().catch(() => {});

    let isOver = false;
    const answers: string[] = [];
    async function load(path: string, body?: unknown): Promise<void> {
      while (!isOver) {
        const init =
          body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
        // Plain requests, without the retries of the client.
        const answer = await fetch(url + path, init).then(
          async (response) => `${response.status}${response.ok ? '' : await response.text()}`,
          (error: Error) => String(error.cause ?? error),
        );
        answers.push(answer);
        await pause(5);
      }
    }
    const loads = [
      load('/api/settings'),
      load('/api/settings'),
      load(`/api/conversations/${id}`),
      load(`/api/conversations/${id}/message`, { message: 'say again' }),
    ];
    for (const own of ports) await restart(own);
    isOver = true;
    await Promise.all(loads);
    assert.deepEqual([...new Set(answers)], ['200']);

    const { events } = await parley.conversations.events(id, { reverse: true, limit: 1 });
    const last = events[0]?.id ?? -1;
    await until('the follower has all events', () => seen.includes(last), restartWithinMs);
    assert.deepEqual(
      seen.slice(0, last + 1),
      Array.from({ length: last + 1 }, (_, i) => i),
    );
    following.abort();
    await follower;
  });
});
