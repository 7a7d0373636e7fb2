import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { modelRequests, post, type TestGatewayOptions, withProvider } from '../../test/support/gateway.ts';
import { until } from '../../test/support/until.ts';
import type { Step } from '../agents/trial/scriptedModel/script.ts';
import { createScriptedModel } from '../agents/trial/scriptedModel/server.ts';
import { scriptedUsage } from '../agents/trial/scriptedModel/wire.ts';
import { add, type Meter, noUsage, type Usage } from './usage/meter.ts';

const quick = { firstPauseMs: 1, pauseMsMax: 5 };
const words = 'hello from the model';

async function withScript(t: TestContext, script: readonly Step[], more: TestGatewayOptions = {}) {
  const model = createScriptedModel(script);
  const scene = await withProvider(
    t,
    (request, response) => model.handle(request, response, request.url ?? ''),
    {
      times: quick,
      ...more,
    },
  );
  return { ...scene, model };
}

/** What was counted, once it is enough. */
function untilCounted(meter: Meter, isEnough: (usage: Usage) => boolean): Promise<Usage> {
  let taken = noUsage;
  return until('it is counted', () => {
    taken = add(taken, meter.take());
    return isEnough(taken) && taken;
  });
}

const [chat] = modelRequests;
const takenBy = (count: number) => [count * scriptedUsage.input, count * scriptedUsage.output];

describe('a provider with transient errors', () => {
  for (const asked of modelRequests)
    for (const isStream of [false, true])
      it(`is asked again in ${asked.name}${isStream ? ', streamed' : ''}, until an answer begins`, async (t) => {
        const { url, notices, meter, model } = await withScript(
          t,
          [
            { fail: { status: 429, retryAfterS: 3_600 } },
            { fail: { status: 500 } },
            { drop: 'before' },
            { drop: 'middle' },
            { slow: { firstMs: 5, betweenMs: 5 } },
            { say: words },
          ],
          { model: asked.model },
        );
        const path = isStream && 'streamPath' in asked ? asked.streamPath : asked.path;
        const ask = () => post(url, path, { ...asked.body, ...(isStream ? { stream: true } : {}) });

        const cut = await ask();
        assert.equal(cut.status, 200);
        await assert.rejects(cut.text());
        await until('it is told of', () => notices.length === 4);
        assert.match(notices[0] ?? '', /returned 429\. Trying again/);
        assert.match(notices[1] ?? '', /returned 500\. Trying again/);
        assert.match(notices[2] ?? '', /cannot be reached: .*Trying again/);
        assert.match(notices[3] ?? '', /interrupted its response/);
        const lost = meter.take();
        assert.equal(lost.requests, 1);
        assert.ok(lost.input > 0 && lost.output > 0 && lost.costNanos > 0);

        const slow = await ask();
        assert.match(await slow.text(), /hello.*from.*the.*model/s);
        await until('it is counted', () => meter.take().output === scriptedUsage.output);
        assert.equal(model.exchanges.length, 5);
        assert.equal(notices.length, 4);
      });

  it('is given up after five attempts, 402, which count as one request and cost nothing', async (t) => {
    const { ask, notices, meter, model } = await withScript(t, [
      { fail: { status: 503 }, times: 10 },
      { say: words },
    ]);
    const answer = await ask();
    assert.equal(answer.status, 402);
    assert.match(await answer.text(), /returned 503\. It was tried 5 times\./);
    assert.equal(model.exchanges.length, 5);
    assert.match(notices.at(-1) ?? '', /tried 5 times/);
    const { requests, costNanos } = meter.take();
    assert.deepEqual([requests, costNanos], [1, 0]);
  });

  it('is retried after the delay that it asks for', async (t) => {
    const { ask } = await withScript(
      t,
      [{ fail: { status: 429, retryAfterS: 0.1 }, times: 2 }, { say: words }],
      { times: { firstPauseMs: 1, pauseMsMax: 60_000 } },
    );
    const began = performance.now();
    assert.equal((await ask()).status, 200);
    assert.ok(performance.now() - began >= 190);
  });

  it('is not retried once the agent has disconnected', async (t) => {
    const pauseMs = 100;
    const { url, model, notices } = await withScript(
      t,
      [{ fail: { status: 500 }, times: 10 }, { say: words }],
      { times: { firstPauseMs: pauseMs, pauseMsMax: pauseMs } },
    );
    const controller = new AbortController();
    const asking = fetch(url + chat.path, {
      method: 'POST',
      body: JSON.stringify(chat.body),
      signal: controller.signal,
    });
    await until('it was tried', () => notices.length === 1);
    controller.abort();
    await assert.rejects(asking);
    // Nothing tells of what does not happen.
    await sleep(3 * pauseMs);
    assert.equal(model.exchanges.length, 1);
  });
});

describe('limits with concurrent requests', () => {
  const crowd = 100;
  const few = 16;

  it('allow exactly the configured number of requests', async (t) => {
    const { ask, model, limits, meter } = await withScript(t, [{ slow: {}, times: crowd }, { say: words }], {
      limits: { requestsMax: 7, costNanosMax: null },
    });
    const answers = await Promise.all(Array.from({ length: crowd }, () => ask()));
    const statuses = answers.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [...Array(7).fill(200), ...Array(crowd - 7).fill(402)]);
    assert.equal(model.exchanges.length, 7);
    assert.deepEqual(limits, ['max_iterations']);
    await Promise.all(answers.map((answer) => answer.text()));
    const counted = await untilCounted(meter, ({ output }) => output >= 7 * scriptedUsage.output);
    assert.deepEqual([counted.requests, counted.input, counted.output], [7, ...takenBy(7)]);
  });

  it('count a retried request once', async (t) => {
    const { ask, model, limits } = await withScript(
      t,
      [{ fail: { status: 500 }, times: 3 }, { say: words }],
      { limits: { requestsMax: 1, costNanosMax: null } },
    );
    assert.deepEqual([(await ask()).status, (await ask()).status], [200, 402]);
    assert.equal(model.exchanges.length, 4);
    assert.deepEqual(limits, ['max_iterations']);
  });

  const tiny = { limits: { requestsMax: null, costNanosMax: 1 } };

  it('exceed a budget by one request, 402 for the others', async (t) => {
    const held: ServerResponse[] = [];
    const { ask, provider, limits, meter, notices } = await withProvider(
      t,
      (_, response) => void held.push(response),
      tiny,
    );
    const asking = Array.from({ length: crowd }, () => ask());
    const statuses: number[] = [];
    for (const asked of asking) void asked.then(({ status }) => statuses.push(status));
    await until('all others are refused', () => statuses.length === crowd - 1);
    assert.ok(statuses.every((status) => status === 402));
    assert.deepEqual([held.length, limits], [1, []]);
    assert.equal(notices.length, 1);
    assert.match(notices[0] ?? '', /in progress may exceed/);
    held[0]?.end(JSON.stringify({ usage: { prompt_tokens: 1_000, completion_tokens: 1_000 } }));
    await untilCounted(meter, ({ costNanos }) => costNanos > 0);
    assert.equal((await ask()).status, 402);
    assert.equal(provider.requests.length, 1);
    assert.deepEqual(limits, ['max_budget']);
  });

  it('allow as many requests as the budget covers', async (t) => {
    const held: ServerResponse[] = [];
    // About 4,096 tokens at ten dollars a million each.
    const limits = { requestsMax: null, costNanosMax: 3.5 * 0.041e9 };
    const { ask } = await withProvider(t, (_, response) => void held.push(response), { limits });
    const asking = Array.from({ length: few }, () => ask());
    const statuses: number[] = [];
    for (const asked of asking) void asked.then(({ status }) => statuses.push(status));
    await until('the others are refused', () => statuses.length === few - 3);
    assert.equal(held.length, 3);
    for (const response of held) response.end('{}');
    await Promise.all(asking);
  });

  it('reserve nothing for a request that was not answered', async (t) => {
    const { ask } = await withProvider(t, (_, response) => void response.writeHead(400).end(), tiny);
    assert.deepEqual([(await ask()).status, (await ask()).status], [400, 400]);
  });

  it('cut off an answer that costs more than the rest of the budget and its reservation', async (t) => {
    const chunk = 'data: {"choices":[{"delta":{"content":"word "}}]}\n\n';
    const { ask, notices, meter } = await withProvider(
      t,
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk.repeat(60_000));
      },
      tiny,
    );
    await assert.rejects((await ask({}, { stream: true })).text());
    await until('it is told of', () => notices.length > 0);
    assert.match(notices[0] ?? '', /maximum cost was reached in the middle of a response/);
    assert.ok(meter.take().output < 60_000);
    assert.equal((await ask()).status, 402);
  });
});
