// What metrics and traces are told about model requests.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { type TestGatewayOptions, withProvider } from '../../test/support/gateway.ts';
import { until } from '../../test/support/until.ts';
import type { ModelCallResult } from './modelCalls.ts';

async function observe(t: TestContext, provider: RequestListener, more: TestGatewayOptions = {}) {
  const models: string[] = [];
  const results: ModelCallResult[] = [];
  let retries = 0;
  const { ask } = await withProvider(t, provider, {
    times: { firstPauseMs: 1 },
    ...more,
    observeCall: (model) => {
      models.push(model);
      return { onRetry: () => (retries += 1), end: (result) => results.push(result) };
    },
  });
  const answer = await ask().catch(() => undefined);
  await answer?.text().catch(() => '');
  await until('it has ended', () => results.length === models.length);
  return { models, retries, result: results[0] };
}

const answering =
  (status: number, body = '{}'): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(body);

describe('a model request that is observed', () => {
  it('ends with the tokens of a complete answer', async (t) => {
    const usage = JSON.stringify({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
    const { models, retries, result } = await observe(t, answering(200, usage));
    assert.deepEqual(models, ['openai/gpt-4o']);
    assert.equal(retries, 0);
    assert.deepEqual(result, {
      status: 200,
      tokens: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 },
    });
  });

  for (const [status, failure, expectedRetries] of [
    [401, 'rejected', 0],
    [429, 'rate_limited', 4],
    [503, 'server_error', 4],
  ] as const)
    it(`is ${failure} if the provider returns ${status}, after ${expectedRetries} retries`, async (t) => {
      const { retries, result } = await observe(t, answering(status));
      assert.equal(result?.failure, failure);
      assert.equal(retries, expectedRetries);
    });

  it('is interrupted if the provider closes the connection', async (t) => {
    const { result } = await observe(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{', () => response.destroy());
    });
    assert.equal(result?.failure, 'interrupted');
  });

  it('has timed out if the provider does not respond', async (t) => {
    const { result } = await observe(t, () => {}, { times: { firstPauseMs: 1, firstByteMs: 50 } });
    assert.equal(result?.failure, 'timeout');
  });

  it('is invalid if the provider returns a web page', async (t) => {
    const { result } = await observe(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><html></html>');
    });
    assert.equal(result?.failure, 'invalid');
  });

  it('is unreachable if nothing listens there', async (t) => {
    const { result, retries } = await observe(t, answering(200), {
      modelHosts: { openai: 'http://127.0.0.1:1' },
    });
    assert.equal(result?.failure, 'unreachable');
    assert.equal(retries, 4);
  });

  it('is not observed if a limit of the conversation refuses it', async (t) => {
    const { models } = await observe(t, answering(200), { limits: { requestsMax: 0, costNanosMax: null } });
    assert.deepEqual(models, []);
  });
});
