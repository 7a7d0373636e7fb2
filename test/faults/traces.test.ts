// One trace from a request to the model, through two processes on PostgreSQL.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createScriptedModel, listenScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { scriptedUsage } from '../../src/agents/trial/scriptedModel/wire.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlpReceiver.ts';
import { mainFile } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const canary = 'CANARY-7f3a9b';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const otherTraceId = '1bf7651916cd43dd8448eb211c80319d';
const clientSpan = 'b7ad6b7169203331';
const [internal, client, consumer] = [1, 3, 5];
const failed = 2;

/** Sends a model request as an agent does. */
const program = `
const { origin, password } = new URL(process.env.HTTP_PROXY);
const answer = await fetch(origin + '/model/openai/v1/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + password, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: '${canary}' }] }),
});
console.log(answer.status);
`;

const chain = (receiver: OtlpReceiver, span: ReceivedSpan): string[] => {
  const parent = receiver.spans().find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [span.name] : [span.name, ...chain(receiver, parent)];
};

describe('a trace', { timeout: 240_000 }, () => {
  it('leads from the request to the run and its model requests in another process, and contains nothing of users', async (t) => {
    const receiver = await startOtlpReceiver(t);
    const { origin, close } = await listenScriptedModel(createScriptedModel([{ say: canary }]));
    t.after(close);
    const webhooks = await startReceiver(t);
    const file = join(temporaryFolder(t), 'ask.mjs');
    writeFileSync(file, program);
    const { serve } = await createWorkerSite('postgres', t, mainFile);
    const env = {
      ...receiver.env,
      PARLEY_MODEL_HOSTS: `openai=${origin}`,
      PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
    };
    const api = await serve({ ...env, PARLEY_ROLE: 'api' });
    const worker = await serve({ ...env, PARLEY_ROLE: 'worker' });
    await api.set({ agent: 'fake', llm_model: 'openai/gpt-4o', llm_api_key: `sk-${canary}` });
    await api.ask('/api/webhooks', { json: { url: webhooks.url, events: ['conversation.status'] } });

    const asking = `really-run env -u NODE_USE_ENV_PROXY ${process.execPath} ${file}`;
    const { body } = await api.ask('/api/conversations', {
      json: { initial_user_msg: `${asking}\nsay ${canary}`, conversation_id: canary },
      headers: { traceparent: `00-${traceId}-${clientSpan}-01` },
    });
    const id: string = body.conversation_id;
    await api.turns(id, 1);

    const post = await receiver.span('POST /api/conversations');
    assert.equal(post.parentSpanId, clientSpan);
    const chat = await receiver.span('chat gpt-4o');
    const turn = await receiver.span('invoke_agent fake');
    const start = await receiver.span('start run');
    assert.deepEqual(chain(receiver, chat), ['chat gpt-4o', 'invoke_agent fake', 'POST /api/conversations']);
    assert.deepEqual(chain(receiver, start), ['start run', 'POST /api/conversations']);
    for (const part of ['open sandbox', 'prepare workspace', 'start agent', 'open session'])
      assert.equal((await receiver.span(part)).parentSpanId, start.spanId, part);
    assert.equal((await receiver.span('claim conversation')).parentSpanId, post.spanId);
    assert.equal((await receiver.span('conversations.create')).parentSpanId, post.spanId);
    assert.equal((await receiver.span('execute_tool execute')).parentSpanId, turn.spanId);
    assert.equal((await receiver.span('deliver webhook')).traceId, traceId);
    assert.ok([chat, turn, start].every((span) => span.traceId === traceId));
    assert.deepEqual([turn.kind, chat.kind, start.kind], [internal, client, consumer]);
    assert.notEqual(post.instance, chat.instance);
    assert.equal(chat.instance, start.instance);
    assert.deepEqual(chat.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'http.response.status_code': 200,
      'gen_ai.usage.input_tokens': scriptedUsage.input,
      'gen_ai.usage.output_tokens': scriptedUsage.output,
      'gen_ai.usage.cache_read.input_tokens': 0,
      'gen_ai.usage.cache_creation.input_tokens': 0,
    });

    // The turn of a later message belongs to the trace of that message.
    await api.ask(`/api/conversations/${id}/message`, {
      json: { message: asking },
      headers: { traceparent: `00-${otherTraceId}-${clientSpan}-01` },
    });
    await api.turns(id, 2);
    const later = await receiver.span('chat gpt-4o', (span) => span.traceId === otherTraceId);
    await receiver.span('invoke_agent fake', (span) => span.traceId === otherTraceId);
    await receiver.span('POST /api/conversations/:id/message');
    assert.deepEqual(chain(receiver, later), [
      'chat gpt-4o',
      'invoke_agent fake',
      'POST /api/conversations/:id/message',
    ]);

    // A turn that its user stops has not failed.
    await api.say(id, 'hang');
    await until('the agent works', async () => (await api.info(id)).agent_state === 'running');
    await api.stop(id);
    for (const process of [api, worker]) process.send('SIGTERM');
    for (const process of [api, worker]) assert.equal((await process.ended()).code, 0);
    const turns = receiver.spans().filter(({ name }) => name === 'invoke_agent fake');
    assert.deepEqual(
      turns.map(({ status }) => status === failed),
      [false, false, false],
    );
    assert.doesNotMatch(receiver.text(), /CANARY/i);
    assert.ok(!receiver.text().includes('in-the-url'));
  });

  it('is dropped by a process whose collector does not respond, which still ends in time', async (t) => {
    const { serve } = await createWorkerSite('sqlite', t, mainFile);
    const service = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
    await service.set({ agent: 'fake' });
    const id = await service.create('say hello');
    assert.deepEqual(await service.turns(id, 1), ['hello']);
    service.send('SIGTERM');
    assert.equal((await until('it has ended', () => service.hasEnded() && service.ended())).code, 0);
  });
});
