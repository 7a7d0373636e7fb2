import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { startService } from '../../test/support/service.ts';
import { openStream } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';

const canary = 'canary-in-the-query';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly request_id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number | null;
  readonly ms: number;
  readonly key_id: string | null;
  readonly address: string;
}

async function startLogged(t: { after(fn: () => Promise<void>): void }, env: Record<string, string> = {}) {
  const service = await startService({ env: { PARLEY_LOG_LEVEL: 'warn', ...env } }, t);
  const lines = () =>
    service
      .logs()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg }) => msg === 'request');
  const lineOf = (route: string, method = 'GET') =>
    until(`a line for ${method} ${route}`, () =>
      lines().find((line) => line.route === route && line.method === method),
    );
  return { ...service, lines, lineOf };
}

describe('the access log', () => {
  it('has a line with route, status, time, key and address for each request, at any log level', async (t) => {
    const { ask, lineOf } = await startLogged(t, { PARLEY_ACCESS_LOG: '1', PARLEY_TRUST_PROXY: '1' });
    const answer = await ask('/api/settings', { headers: { 'x-forwarded-for': '203.0.113.7' } });
    const { request_id: id, status, ms, key_id: keyId, address, level } = await lineOf('/api/settings');
    assert.equal(id, answer.headers.get('x-request-id'));
    assert.deepEqual([status, address, level], [200, '203.0.113.7', 'info']);
    assert.ok(ms >= 0);
    assert.match(keyId ?? '', /^\w+$/);
  });

  it('has a line for refused and unknown requests, without what a client has sent', async (t) => {
    const { ask, key, logs, lineOf } = await startLogged(t, { PARLEY_ACCESS_LOG: '1' });
    await ask(`/api/settings?token=${canary}`, { key: `${key.slice(0, -4)}AAAA` });
    await ask(`/${canary}/${key}`, { method: 'DELETE' });
    const refused = await lineOf('/api/settings');
    assert.deepEqual([refused.status, refused.key_id], [401, null]);
    assert.equal((await lineOf('(none)', 'DELETE')).status, 404);
    for (const secret of [canary, key]) assert.ok(!logs().includes(secret));
  });

  it('has a line for streams and sockets that the client closes', async (t) => {
    const { ask, key, url, lines, lineOf } = await startLogged(t, { PARLEY_ACCESS_LOG: '1' });
    const { body } = await ask('/api/conversations', { json: { initial_user_msg: 'Hello' } });
    const stream = await openStream(url, `/api/conversations/${body.conversation_id}/events/stream`, { key });
    assert.equal(stream.status, 200);
    assert.ok(!lines().some(({ route }) => route.endsWith('/stream')), 'it is still open');
    stream.cut();
    assert.equal((await lineOf('/api/conversations/:id/events/stream')).status, 200);
    const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, {
      headers: { 'X-Session-API-Key': key },
    });
    await new Promise((resolve) => socket.once('open', resolve));
    socket.terminate();
    const { status, key_id: keyId } = await lineOf('/acp');
    assert.equal(status, 101);
    assert.notEqual(keyId, null);
  });

  it('is off by default', async (t) => {
    const { ask, lines } = await startLogged(t);
    await ask('/api/settings');
    await ask('/health');
    assert.deepEqual(lines(), []);
  });
});
