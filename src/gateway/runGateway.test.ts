import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
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
import { createIds } from '../process/ids.ts';
import { ensureUser } from '../users/store.ts';
import { createRunGateway } from './runGateway.ts';
import type { ModelLimit } from './usage/meter.ts';

const [chat] = modelRequests;
const chunk = 'data: {"choices":[{"delta":{"content":"word "}}]}\n\n';

interface RunOptions {
  readonly usedBefore?: Partial<UsageColumns>;
  readonly isLocal?: boolean;
  /** The provider repeats what it says, from when it has this many requests, as long as somebody listens. */
  readonly endlessFrom?: number;
  readonly budgetNanos?: number;
}

function repeatUntilClosed(response: ServerResponse, said: string): void {
  while (!response.destroyed && response.write(said));
  if (!response.destroyed) response.once('drain', () => repeatUntilClosed(response, said));
}

/** A gateway of a claimed conversation, whose provider says so much, and no more. */
async function openRun(
  t: TestContext,
  said: string,
  { usedBefore = {}, isLocal = false, endlessFrom, budgetNanos }: RunOptions = {},
) {
  const database = await openTestDatabase('sqlite', t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, 'a'));
  const claim = { runId: 'run', owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
  const conversation = await database.run(claimConversation, claim);
  assert.ok(conversation);
  const responses: ServerResponse[] = [];
  const provider = await listenOnLoopback(t, (request, response) => {
    request.resume();
    if (said === '') return;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(said);
    responses.push(response);
    if (endlessFrom !== undefined && provider.requests.length >= endlessFrom)
      for (const waiting of responses.splice(0)) repeatUntilClosed(waiting, said);
  });
  const settings = {
    llm_model: chat.model,
    llm_base_url: isLocal ? provider.url : null,
    max_iterations: null,
    max_budget_per_task: null,
  };
  const model = { settings, key: 'sk-1' };
  const notices: string[] = [];
  const limits: ModelLimit[] = [];
  const gateway = createRunGateway({
    database,
    runId: 'run',
    budgetOfAll: { day: budgetNanos ?? null, month: null },
    nextId: createIds(),
    conversation: { ...conversation, ...usedBefore },
    model,
    loadModel: async () => model,
    modelHosts: hostsAt(provider.url),
    models: loadModels(),
    allowPrivate: () => isLocal,
    bodies: createBodies(),
    onNotice: (sentence) => notices.push(sentence),
    onLimit: (limit) => limits.push(limit),
    onBackgroundError: (error) => assert.fail(error),
  });
  const server = await listenOnLoopback(t, (request, response) => {
    void gateway.handle(request, response, request.url ?? '');
  });
  const body = JSON.stringify({ ...chat.body, stream: true, pad: 'x'.repeat(4_000) });
  const ask = (signal: AbortSignal) => fetch(server.url + chat.path, { method: 'POST', body, signal });
  const usage = () => database.run(findUsage, { userId, id: 'a' });
  return { gateway, provider, ask, usage, notices, limits };
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

describe('the budget of a user', () => {
  const budgetNanos = 400_000_000;
  /** What arrives until an answer is cut off: a check is due after 16 KiB, and a piece has 64 KiB at most. */
  const surplusNanos = ((16 + 64) * 1_024 * 10_000) / chunk.length;

  for (const count of [1, 8])
    it(`ends ${count} open answers that use it up together`, async (t) => {
      const options = { endlessFrom: count, budgetNanos };
      const { gateway, ask, usage, notices, limits } = await openRun(t, chunk.repeat(20), options);
      const { signal } = new AbortController();
      const answers = await Promise.all(Array.from({ length: count }, () => ask(signal)));
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      await Promise.all(answers.map((answer) => assert.rejects(answer.text())));
      await until('the cost is stored', async () => Number((await usage())?.cost_nanos) > 0.9 * budgetNanos);
      await until('the next one is refused', async () => {
        await (await ask(signal)).text().catch(() => {});
        return limits.length > 0;
      });
      await gateway.close();
      const spent = Number((await usage())?.cost_nanos);
      assert.ok(spent < budgetNanos + count * surplusNanos, `${spent}`);
      assert.deepEqual(limits, ['user_budget']);
      const cutOff = 'Your budget for models was used up in the middle of a response. It was cut off.';
      assert.ok(notices.includes(cutOff), notices.join());
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
