import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../test/support/conversations.ts';
import { openTestDatabase } from '../../test/support/databases.ts';
import { hostsAt, modelRequests } from '../../test/support/gateway.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { createBodies } from '../bridge/bodies.ts';
import { createConversation } from '../conversations/create/store.ts';
import { claimConversation } from '../conversations/run/claimStore.ts';
import type { UsageColumns } from '../conversations/usage/shape.ts';
import { findUsage } from '../conversations/usage/store.ts';
import { loadModels } from '../models/catalogue.ts';
import { ensureUser } from '../users/store.ts';
import { createRunGateway } from './runGateway.ts';

const [chat] = modelRequests;
const chunk = 'data: {"choices":[{"delta":{"content":"word "}}]}\n\n';

/** A gateway of a claimed conversation, whose provider says so much, and no more. */
async function openRun(
  t: TestContext,
  said: string,
  { usedBefore = {}, isLocal = false }: { usedBefore?: Partial<UsageColumns>; isLocal?: boolean } = {},
) {
  const database = await openTestDatabase('sqlite', t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, 'a'));
  const claim = { runId: 'run', owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
  const conversation = await database.run(claimConversation, claim);
  assert.ok(conversation);
  const provider = await listenOnLoopback(t, (request, response) => {
    request.resume();
    if (said !== '') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(said);
  });
  const settings = {
    llm_model: chat.model,
    llm_base_url: isLocal ? provider.url : null,
    max_iterations: null,
    max_budget_per_task: null,
  };
  const model = { settings, key: 'sk-1' };
  const notices: string[] = [];
  const gateway = createRunGateway({
    database,
    conversation: { ...conversation, ...usedBefore },
    model,
    loadModel: async () => model,
    modelHosts: hostsAt(provider.url),
    models: loadModels(),
    allowPrivate: () => isLocal,
    bodies: createBodies(),
    onNotice: (sentence) => notices.push(sentence),
    onLimit: () => {},
    onBackgroundError: (error) => assert.fail(error),
  });
  const server = await listenOnLoopback(t, (request, response) => {
    void gateway.handle(request, response, request.url ?? '');
  });
  const body = JSON.stringify({ ...chat.body, stream: true, pad: 'x'.repeat(4_000) });
  const ask = (signal: AbortSignal) => fetch(server.url + chat.path, { method: 'POST', body, signal });
  const usage = () => database.run(findUsage, { userId, id: 'a' });
  return { gateway, provider, ask, usage, notices };
}

describe('a local model', () => {
  it('is reported as free once per conversation, also if that has several runs', async (t) => {
    const noticesOf = async (usedBefore: Partial<UsageColumns>) => {
      const run = await openRun(t, chunk, { isLocal: true, usedBefore });
      const answer = await run.ask(new AbortController().signal);
      await answer.body?.getReader().read();
      await run.gateway.close();
      return run.notices;
    };
    assert.deepEqual(await noticesOf({}), ['The model is on a private address, and counts as free.']);
    assert.deepEqual(await noticesOf({ model_requests: 3 }), []);
    assert.equal((await noticesOf({ model_requests: 3, cost_nanos: 5 })).length, 1);
  });
});

describe('the metrics of a gateway', () => {
  it('are what the conversation has used, and nothing before it has used something', async (t) => {
    const { gateway, ask, usage } = await openRun(t, chunk.repeat(50));
    assert.equal(gateway.metrics(), undefined);
    const answer = await ask(new AbortController().signal);
    await answer.body?.getReader().read();
    await gateway.close();
    const stored = (await usage()) ?? assert.fail();
    const {
      accumulated_cost,
      max_budget_per_task,
      accumulated_token_usage: tokens,
    } = gateway.metrics() ?? assert.fail();
    assert.deepEqual([accumulated_cost, max_budget_per_task], [Number(stored.cost_nanos) / 1e9, null]);
    const { context_window: context, ...counted } = tokens;
    const prompt = Number(stored.input_tokens);
    assert.ok(context > 0);
    assert.deepEqual(counted, {
      prompt_tokens: prompt,
      completion_tokens: 50,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      per_turn_token: prompt + 50,
    });
  });
});

describe('a closed gateway', () => {
  it('has stored the usage of the open answer', async (t) => {
    const { gateway, ask, usage, notices } = await openRun(t, chunk.repeat(50));
    const answer = await ask(new AbortController().signal);
    await answer.body?.getReader().read();
    await gateway.close();
    const { model_requests, input_tokens = 0, output_tokens, cost_nanos = 0 } = (await usage()) ?? {};
    assert.deepEqual([model_requests, output_tokens], [1, 50]);
    assert.ok(input_tokens > 1_000 && cost_nanos > 0);
    assert.deepEqual(notices, []);
  });

  it('has stored the estimated usage of an unanswered request', async (t) => {
    const { gateway, provider, ask, usage, notices } = await openRun(t, '');
    const asked = assert.rejects(ask(new AbortController().signal));
    await until('it was asked', () => provider.requests.length > 0);
    await gateway.close();
    await asked;
    const { input_tokens = 0, output_tokens, cost_nanos = 0 } = (await usage()) ?? {};
    assert.ok(input_tokens > 1_000 && cost_nanos > 0);
    assert.equal(output_tokens, 0);
    assert.deepEqual(notices, []);
  });
});

describe('an agent that disconnects before the answer begins', () => {
  it('is billed for its request', async (t) => {
    const { gateway, provider, ask, usage } = await openRun(t, '');
    const left = new AbortController();
    const asked = assert.rejects(ask(left.signal));
    await until('it was asked', () => provider.requests.length > 0);
    left.abort();
    await asked;
    await until('nothing is open', async () => (await provider.openConnections()) === 0);
    await gateway.close();
    const { input_tokens = 0, cost_nanos = 0 } = (await usage()) ?? {};
    assert.ok(input_tokens > 1_000 && cost_nanos > 0);
  });
});
