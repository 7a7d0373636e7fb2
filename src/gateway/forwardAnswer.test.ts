import assert from 'node:assert/strict';
import type { RequestListener, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { modelRequests, post, type TestGatewayOptions, withProvider } from '../../test/support/gateway.ts';
import { until } from '../../test/support/until.ts';

const brokeOff = 'The model provider interrupted its response.';
const fellSilent = 'The model provider stopped sending its response.';
const tooLate = 'The model provider did not finish its response in time. It was cut off.';
const tooLarge = 'The model provider sent a response that is too large. It was cut off.';
const chunk = 'data: {"choices":[{"delta":{"content":"word "}}]}\n\n';

function beginStream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
}

/** Sends the text, waits until it is on its way, and cuts the connection. */
const cutAfter =
  (text: string, headers: Record<string, string>): RequestListener =>
  (_, response) => {
    response.writeHead(200, headers).write(text, () => response.socket?.destroy());
  };

describe('an incomplete answer of a provider', () => {
  it("closes the agent's connection, is reported, and is metered as far as it arrived", async (t) => {
    const { ask, notices, meter } = await withProvider(
      t,
      cutAfter(chunk.repeat(3), { 'content-type': 'text/event-stream' }),
    );
    const answer = await ask({}, { stream: true });
    assert.equal(answer.status, 200);
    await assert.rejects(answer.text());
    await until('it is told of', () => notices.length > 0);
    assert.deepEqual(notices, [brokeOff]);
    const usage = meter.take();
    assert.deepEqual([usage.requests, usage.output], [1, 3]);
    assert.ok(usage.input > 0 && usage.costNanos > 0);
  });

  it('is reported once per turn', async (t) => {
    const broken = cutAfter('{"choices":', { 'content-type': 'application/json', 'content-length': '100' });
    const { ask, notices, beginTurn, provider } = await withProvider(t, broken);
    const breaks = async () => assert.rejects((await ask()).text());
    await breaks();
    await breaks();
    await until('it is told of', () => notices.length > 0);
    beginTurn();
    await breaks();
    await until('it is told of again', () => notices.length > 1);
    assert.deepEqual(notices, [brokeOff, brokeOff]);
    assert.equal(provider.requests.length, 3);
  });

  it('is metered by what the provider had reported, and estimated for the rest', async (t) => {
    const part = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
    const start = part({ message: { usage: { input_tokens: 7, output_tokens: 1 } } });
    const delta = part({ delta: { text: 'word ' } });
    const { url, meter, notices } = await withProvider(
      t,
      cutAfter(start + delta.repeat(9), { 'content-type': 'text/event-stream' }),
      { model: 'anthropic/claude-sonnet-4-5' },
    );
    const { path, body } = modelRequests[2];
    await assert.rejects((await post(url, path, body)).text());
    await until('it is told of', () => notices.length > 0);
    const { input, output } = meter.take();
    assert.deepEqual([input, output], [7, 10]);
  });

  it('ends when the provider is silent for too long, and is reported', async (t) => {
    const { ask, notices, meter, provider } = await withProvider(
      t,
      (_, response) => beginStream(response, chunk),
      { times: { silenceMs: 30 } },
    );
    await assert.rejects((await ask({}, { stream: true })).text());
    await until('it is told of', () => notices.length > 0);
    assert.deepEqual(notices, [fellSilent]);
    assert.equal(meter.take().output, 1);
    await until('nothing is open', async () => (await provider.openConnections()) === 0);
  });

  it('ends when no data follows the head in time', async (t) => {
    const { ask, notices } = await withProvider(
      t,
      (_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
      { times: { firstByteMs: 300 } },
    );
    await assert.rejects((await ask({}, { stream: true })).text());
    await until('it is told of', () => notices.length > 0);
    assert.deepEqual(notices, [fellSilent]);
  });

  it('is refused, 402, when no head arrives in time, and not retried', async (t) => {
    const { ask, notices, provider } = await withProvider(t, () => {}, { times: { firstByteMs: 30 } });
    const answer = await ask();
    assert.equal(answer.status, 402);
    assert.match(await answer.text(), /did not respond within 0\.03 s/);
    assert.equal(notices.length, 1);
    // None if this process was too slow to send it.
    assert.ok(provider.requests.length <= 1);
    await until('nothing is open', async () => (await provider.openConnections()) === 0);
  });

  it('is forwarded with its status if it is an error, however long the rest of it takes', async (t) => {
    const { ask, notices } = await withProvider(
      t,
      (_, response) => response.writeHead(400, { 'content-type': 'text/plain' }).write('no such'),
      { times: { silenceMs: 30 } },
    );
    const answer = await ask();
    assert.deepEqual([answer.status, await answer.text()], [400, 'no such']);
    assert.match(notices[0] ?? '', /rejected a request \(400\)/);
  });

  it('is not reported if the agent has disconnected', async (t) => {
    const { url, notices, meter, provider } = await withProvider(t, (_, response) =>
      beginStream(response, chunk),
    );
    const { path, body } = modelRequests[0];
    const controller = new AbortController();
    const answer = await fetch(url + path, {
      method: 'POST',
      body: JSON.stringify({ ...body, stream: true }),
      signal: controller.signal,
    });
    await answer.body?.getReader().read();
    controller.abort();
    await until('it is counted', () => meter.take().output > 0);
    await until('nothing is open', async () => (await provider.openConnections()) === 0);
    assert.deepEqual(notices, []);
  });

  it('does not time out while the agent reads slowly', async (t) => {
    const text = chunk.repeat(400_000);
    const { url, notices } = await withProvider(
      t,
      (_, response) => {
        beginStream(response, text);
        response.end();
      },
      { times: { silenceMs: 4_000 } },
    );
    const { path, body } = modelRequests[0];
    const answer = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    let bytes = first?.value?.length ?? 0;
    for (;;) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined) break;
      bytes += value.length;
    }
    assert.equal(bytes, text.length);
    assert.deepEqual(notices, []);
  });
});

describe('an oversized answer', () => {
  const flood = 'x'.repeat(10_000);
  const cases: readonly [string, string, TestGatewayOptions, string][] = [
    ['in bytes', chunk.repeat(100), { bounds: { answerBytesMax: 1_000 } }, tooLarge],
    ['in one line', `data: ${flood}`, { bounds: { lineBytesMax: 1_000 } }, tooLarge],
    ['in time', chunk, { times: { answerMs: 30 } }, tooLate],
  ];
  for (const [name, text, more, sentence] of cases)
    it(`is cut off ${name}, told of and counted`, async (t) => {
      const { ask, notices, meter, provider } = await withProvider(
        t,
        (_, response) => beginStream(response, text),
        more,
      );
      await assert.rejects((await ask({}, { stream: true })).text());
      await until('it is told of', () => notices.length > 0);
      assert.deepEqual(notices, [sentence]);
      assert.ok(meter.take().output > 0);
      await until('nothing is open', async () => (await provider.openConnections()) === 0);
    });

  it('is cut off if only comments keep it alive for too long', async (t) => {
    const { ask, notices } = await withProvider(
      t,
      (_, response) => {
        beginStream(response, chunk);
        const timer = setInterval(() => response.write(': still here\n\n'), 5);
        response.once('close', () => clearInterval(timer));
      },
      { times: { silenceMs: 60_000, keptAliveMs: 100 } },
    );
    await assert.rejects((await ask({}, { stream: true })).text());
    await until('it is told of', () => notices.length > 0);
    assert.deepEqual(notices, [fellSilent]);
  });

  it('is complete if it only arrives too fast', async (t) => {
    const text = chunk.repeat(10_000);
    const { ask, notices } = await withProvider(
      t,
      (_, response) => {
        beginStream(response, text);
        response.end();
      },
      { bounds: { bytesPerSecondMax: 1_000_000 } },
    );
    assert.equal(await (await ask({}, { stream: true })).text(), text);
    assert.deepEqual(notices, []);
  });
});
