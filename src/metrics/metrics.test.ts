// The metrics of a process: what they count, who may read them, and that they contain nothing of users.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { startService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { createCounter, createHistogram } from './instruments.ts';
import { createMetrics } from './metrics.ts';
import { serveMetrics } from './server.ts';
import { addServiceMetrics } from './serviceMetrics.ts';

/** The value of a series, by its name and labels as they are printed. */
function sampleOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

for (const kind of databaseKinds)
  describe(`GET /metrics on ${kind}`, () => {
    it('counts requests by route and status, on the fast lane and beside it', async (t) => {
      const { ask } = await startService({ kind }, t);
      const settings = 'parley_http_request_seconds_count{method="GET",route="/api/settings",status="200"}';
      for (let i = 0; i < 3; i++) await ask('/api/settings');
      const { headers, text } = await ask('/metrics');
      assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
      assert.equal(sampleOf(text, settings), 3);
      await ask('/api/conversations/canary-id');
      await ask('/canary-path');
      await ask('/api/conversations', { json: { initial_user_msg: 7 } });
      const after = (await ask('/metrics')).text;
      const count = (rest: string) => sampleOf(after, `parley_http_request_seconds_count{${rest}}`);
      assert.equal(count('method="GET",route="/api/conversations/:id",status="200"'), 1);
      assert.equal(count('method="GET",route="(none)",status="404"'), 1);
      assert.equal(count('method="POST",route="/api/conversations",status="422"'), 1);
      assert.doesNotMatch(after, /canary/);
    });

    it('accepts a key that Prometheus sends as a bearer token', async (t) => {
      const { ask, url } = await startService({ kind }, t);
      const read = async (bearer: boolean) => {
        const { body } = await ask('/api/keys', { json: { name: 'p', scopes: ['admin'], bearer } });
        const headers = { authorization: `Bearer ${body.key}` };
        return (await fetch(`${url}/metrics`, { headers })).status;
      };
      assert.equal(await read(true), 200);
      assert.notEqual(await read(false), 200);
    });

    it('counts conversations that wait', async (t) => {
      const { ask } = await startService({ kind, env: { PARLEY_ROLE: 'api' } }, t);
      for (let i = 0; i < 2; i++) await ask('/api/conversations', { json: { initial_user_msg: 'hello' } });
      // A value that could not be read in time is left out.
      const text = await until('they are counted', async () => {
        const read = (await ask('/metrics')).text;
        const series = ['parley_conversations{state="waiting"}', 'parley_outbox_seconds'];
        return series.every((one) => sampleOf(read, one) !== undefined) && read;
      });
      assert.equal(sampleOf(text, 'parley_conversations{state="waiting"}'), 2);
      assert.equal(sampleOf(text, 'parley_conversations{state="running"}'), 0);
      assert.ok((sampleOf(text, 'parley_waiting_seconds') ?? -1) >= 0);
      assert.equal(sampleOf(text, 'parley_run_slots'), 0);
      assert.equal(sampleOf(text, 'parley_outbox_seconds'), 0);
      assert.ok((sampleOf(text, 'parley_disk_free_bytes') ?? 0) > 0);
    });

    it('counts the calls of each commit', async (t) => {
      const { ask } = await startService({ kind, env: { PARLEY_ROLE: 'api' } }, t);
      const series = `{kind="${kind === 'sqlite' ? 'group' : 'set'}"}`;
      const read = async () => {
        const { text } = await ask('/metrics');
        const of = (name: string) => sampleOf(text, `parley_commit_calls_${name}${series}`) ?? 0;
        return { commits: of('count'), calls: of('sum') };
      };
      const before = await read();
      const create = () => ask('/api/conversations', { json: { initial_user_msg: 'hello' } });
      await Promise.all(Array.from({ length: 20 }, create));
      const after = await read();
      assert.ok(after.calls - before.calls >= 20, JSON.stringify({ before, after }));
      assert.ok(after.commits > before.commits);
    });
  });

describe('metrics', () => {
  it('are for keys with the scope admin', async (t) => {
    const { ask } = await startService({}, t);
    assert.equal((await ask('/metrics', { key: null })).status, 401);
    const { body } = await ask('/api/keys', { json: { name: 'plain' } });
    assert.equal((await ask('/metrics', { key: body.key })).status, 403);
  });

  it('can be read without a key on a port of their own, where nothing else is', async (t) => {
    const metrics = createMetrics();
    const onError = (error: Error) => assert.fail(error);
    const server = await serveMetrics({ metrics, host: '127.0.0.1', port: 0, onError });
    t.after(server.close);
    const url = `http://127.0.0.1:${server.port}`;
    const response = await fetch(`${url}/metrics`);
    assert.equal(response.status, 200);
    assert.match(await response.text(), /process_resident_memory_bytes \d/);
    assert.equal((await fetch(`${url}/api/settings`)).status, 404);
    assert.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404);
    await assert.rejects(
      serveMetrics({ metrics, host: '127.0.0.1', port: server.port, onError }),
      /Choose another PARLEY_METRICS_PORT/,
    );
  });

  it('can be read while the database cannot', async () => {
    const metrics = createMetrics();
    const gone = () => Promise.reject(new Error('gone'));
    addServiceMetrics(metrics, {
      readBacklog: gone,
      readOutboxAge: gone,
      readBackupAge: gone,
      readDiskFree: gone,
      readSnapshotStore: gone,
      runs: () => 2,
      slots: 4,
      workspaceBytes: () => 3,
      snapshotsOverdueMs: () => 4_000,
      subscribers: () => 0,
    });
    const { text } = await metrics.read();
    assert.equal(sampleOf(text, 'parley_runs'), 2);
    assert.equal(sampleOf(text, 'parley_workspace_bytes'), 3);
    assert.doesNotMatch(
      text,
      /^parley_(conversations|waiting|outbox|backup_age|disk|snapshot_store)\w*[ {]/m,
    );
  });

  it('put each value into the bucket of its size, and count it in all larger ones', () => {
    const histogram = createHistogram({ name: 'h', help: '', labels: ['of'], bounds: [1, 2] });
    for (const value of [0.5, 1, 1.5, 2, 3]) histogram.observe(['a'], value);
    assert.deepEqual(histogram.samples(), [{ labels: ['a'], cumulative: [2, 4, 5], sum: 8 }]);
  });

  it('have a bounded number of series', () => {
    const counter = createCounter({ name: 'c', help: '', labels: ['of'] });
    for (let i = 0; i < 20_000; i++) counter.add([i]);
    assert.equal(counter.samples().length, 5_000);
  });
});
