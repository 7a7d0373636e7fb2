// Spans of requests, which traces they belong to, and what happens if they cannot be exported.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startOtlpReceiver } from '../../test/support/otlpReceiver.ts';
import { startService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { readConfig } from '../config.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { openTracing } from './tracing.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const clientSpan = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${clientSpan}-01`;
const server = 2;
const failed = 2;

/** The exporter reads these from the environment of the process. */
function setEnvironment(t: TestContext, values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  }
}

async function openWith(env: Record<string, string>) {
  const metrics = createMetrics();
  const tracing = await openTracing(readConfig({ PARLEY_DATA_DIR: '.', ...env }), metrics);
  assert.ok(tracing !== undefined);
  const counted = () =>
    Object.fromEntries(metrics.spans.samples().map(({ labels, value }) => [labels[0], value]));
  return { tracing, counted };
}

for (const kind of databaseKinds)
  describe(`traces of requests on ${kind}`, () => {
    it('continue that of the client, down to the transaction of a creation', async (t) => {
      const receiver = await startOtlpReceiver(t);
      setEnvironment(t, receiver.env);
      const { ask, storage } = await startService({ kind, env: receiver.env }, t);
      await ask('/api/conversations', { json: { initial_user_msg: 'hello' }, headers: { traceparent } });
      const post = await receiver.span('POST /api/conversations');
      assert.deepEqual([post.traceId, post.parentSpanId, post.kind], [traceId, clientSpan, server]);
      assert.deepEqual(post.attributes, {
        'http.request.method': 'POST',
        'http.route': '/api/conversations',
        'http.response.status_code': 200,
      });
      const [stored] = await inspect(storage, 'select traceparent from conversations');
      assert.equal(stored?.['traceparent'], `00-${traceId}-${post.spanId}-01`);
      const creation = await receiver.span('conversations.create');
      assert.deepEqual([creation.traceId, creation.parentSpanId], [traceId, post.spanId]);
      assert.deepEqual(creation.attributes, {
        'db.system.name': kind === 'sqlite' ? 'sqlite' : 'postgresql',
        'db.operation.name': 'conversations.create',
      });
      assert.ok(post.startNs <= creation.startNs + 1_000_000n && creation.endNs <= post.endNs + 1_000_000n);
    });
  });

describe('traces', () => {
  it('have a span for every route, also on the fast lane, but not for health checks', async (t) => {
    const receiver = await startOtlpReceiver(t);
    setEnvironment(t, receiver.env);
    const { ask } = await startService({ env: receiver.env }, t);
    for (let i = 0; i < 3; i++) await ask('/api/settings', { headers: { traceparent } });
    await ask('/ready');
    await ask('/metrics');
    await ask('/nothing-here');
    await receiver.span('GET');
    const settings = receiver.spans().filter(({ name }) => name === 'GET /api/settings');
    assert.equal(settings.length, 3);
    for (const span of settings)
      assert.deepEqual([span.traceId, span.attributes['http.response.status_code']], [traceId, 200]);
    assert.deepEqual(
      receiver.spans().filter(({ name }) => /ready|metrics/.test(name)),
      [],
    );
  });

  it('begin anew if the traceparent is not valid, and are not recorded if the client does not want that', async (t) => {
    const receiver = await startOtlpReceiver(t);
    setEnvironment(t, receiver.env);
    const { ask } = await startService({ env: receiver.env }, t);
    const unwanted = `00-${'1'.repeat(32)}-${clientSpan}-00`;
    await ask('/api/keys', { headers: { traceparent: unwanted } });
    await ask('/api/webhooks', { headers: { traceparent: 'CANARY-not-valid' } });
    const span = await receiver.span('GET /api/webhooks');
    assert.match(span.traceId, /^(?!0+$)[0-9a-f]{32}$/);
    assert.equal(span.parentSpanId, undefined);
    await ask('/api/conversations');
    await receiver.span('GET /api/conversations');
    assert.ok(!receiver.spans().some(({ name }) => name === 'GET /api/keys'));
    assert.ok(!receiver.text().includes('CANARY'));
  });

  it('contain nothing of users', async (t) => {
    const receiver = await startOtlpReceiver(t);
    setEnvironment(t, receiver.env);
    const { ask } = await startService({ env: receiver.env }, t);
    const canary = 'CANARY-7f3a9b';
    await ask('/api/conversations', {
      json: {
        initial_user_msg: canary,
        conversation_id: canary,
        repository: `${canary}/x`,
        client_folder: `/${canary}`,
      },
      headers: { 'idempotency-key': canary, 'user-agent': canary },
    });
    await ask(`/api/conversations/${canary}?x=${canary}`);
    await ask(`/api/conversations/${canary}/message`, { json: { message: canary } });
    await ask('/api/webhooks', {
      json: { url: `https://${canary}.invalid/${canary}`, events: ['conversation.status'] },
    });
    await ask(`/${canary}`);
    await ask('/api/keys', { key: canary });
    await ask('/api/settings', { json: { llm_model: `openai/${canary}`, llm_api_key: canary } });
    await receiver.span('POST /api/settings');
    await receiver.span('GET /api/keys');
    assert.ok(receiver.spans().length >= 8);
    assert.doesNotMatch(receiver.text(), /CANARY/i);
  });

  it('are sent as Protobuf unless JSON is asked for, to the path of the specification', async (t) => {
    const receiver = await startOtlpReceiver(t);
    const { tracing, counted } = await openWith({ OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/` });
    tracing.start('one').end();
    await tracing.close();
    assert.deepEqual(receiver.requests, [{ path: '/v1/traces', contentType: 'application/x-protobuf' }]);
    assert.deepEqual(counted(), { exported: 1 });
  });

  it('end once, and fail with a type instead of a message', async (t) => {
    const receiver = await startOtlpReceiver(t);
    const { tracing, counted } = await openWith(receiver.env);
    const span = tracing.start('one', { parent: traceparent });
    span.fail('late');
    span.end();
    span.end();
    tracing.start('child', { parent: span }).end();
    await tracing.close();
    assert.deepEqual(counted(), { exported: 2 });
    const [one, child] = receiver.spans();
    assert.deepEqual([one?.status, one?.attributes], [failed, { 'error.type': 'late' }]);
    assert.equal(child?.parentSpanId, one?.spanId);
    assert.equal(span.traceparent, `00-${traceId}-${one?.spanId}-01`);
  });

  for (const [sampler, arg, expected] of [
    ['always_off', '1', undefined],
    ['parentbased_traceidratio', '0', undefined],
    ['traceidratio', '1', 1],
    ['parentbased_always_off', '1', undefined],
  ] as const)
    it(`are ${expected === undefined ? 'not ' : ''}recorded with ${sampler} and ${arg}`, async (t) => {
      const receiver = await startOtlpReceiver(t);
      const { tracing, counted } = await openWith({
        ...receiver.env,
        OTEL_TRACES_SAMPLER: sampler,
        OTEL_TRACES_SAMPLER_ARG: arg,
      });
      tracing.start('root').end();
      await tracing.close();
      assert.equal(counted()['exported'], expected);
    });

  it('are dropped and counted while too many wait, and counted if the collector refuses them', async (t) => {
    const receiver = await startOtlpReceiver(t);
    setEnvironment(t, { OTEL_BSP_MAX_QUEUE_SIZE: '10' });
    receiver.answer(400);
    const { tracing, counted } = await openWith(receiver.env);
    for (let i = 0; i < 25; i++) tracing.start(`span ${i}`).end();
    assert.deepEqual(counted(), { dropped: 15 });
    await tracing.close();
    assert.deepEqual(counted(), { dropped: 15, failed: 10 });
  });

  it('do no harm if nothing listens at the endpoint', async (t) => {
    const dead = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '200' };
    setEnvironment(t, { ...dead, OTEL_BSP_SCHEDULE_DELAY: '20' });
    const { ask } = await startService({ env: dead }, t);
    for (let i = 0; i < 20; i++) assert.equal((await ask('/api/settings')).status, 200);
    await until('the lost spans are counted', async () =>
      /^parley_trace_spans_total\{outcome="failed"\} [1-9]/m.test((await ask('/metrics')).text),
    );
  });

  it('are off without an endpoint, and then nothing of OpenTelemetry is loaded', async () => {
    assert.equal(await openTracing(readConfig({ PARLEY_DATA_DIR: '.' }), createMetrics()), undefined);
    const program = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
      await import(${JSON.stringify(new URL('../app.ts', import.meta.url).href)});
      console.log(JSON.stringify([loaded.some((url) => url.includes('fastify')), loaded.filter((url) => url.includes('opentelemetry'))]));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    assert.deepEqual(JSON.parse(output), [true, []]);
  });
});
