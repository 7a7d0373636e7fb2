import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import {
  hostsAt,
  modelKey,
  modelRequests,
  openGateway,
  post,
  withProvider,
} from '../../test/support/gateway.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { createScriptedModel } from '../agents/trial/scriptedModel/server.ts';
import { scriptedUsage } from '../agents/trial/scriptedModel/wire.ts';
import type { GatewayOptions } from './handler.ts';

describe('the gateway', () => {
  for (const asked of modelRequests)
    for (const stream of [false, true])
      it(`takes ${asked.name}${stream ? ', streamed,' : ''} to the user's model, with the key, and counts`, async (t) => {
        const scripted = createScriptedModel([{ say: 'hello from the model' }]);
        const provider = await listenOnLoopback(t, (request, response) =>
          scripted.handle(request, response, request.url ?? ''),
        );
        const { url, meter, notices } = await openGateway(t, {
          model: asked.model,
          modelHosts: hostsAt(provider.url),
        });
        const path = stream && 'streamPath' in asked ? asked.streamPath : asked.path;
        const answer = await post(
          url,
          path,
          { ...asked.body, ...(stream ? { stream: true } : {}) },
          {
            authorization: 'Bearer token-of-the-run',
          },
        );
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /hello.*from.*the.*model/s);
        const [sent] = provider.requests;
        assert.ok(asked.sentKey(sent?.headers ?? {}), JSON.stringify(sent?.headers));
        assert.ok(!JSON.stringify([sent?.headers, sent?.url]).includes('token-of-the-run'));
        assert.ok(!sent?.url?.includes('theirs'));
        assert.equal(scripted.exchanges[0]?.request.model, asked.model.split('/')[1]);
        const usage = meter.take();
        assert.deepEqual(
          [usage.requests, usage.input, usage.output],
          [1, scriptedUsage.input, scriptedUsage.output],
        );
        assert.ok(usage.costNanos > 0);
        assert.deepEqual(notices, []);
      });

  const fine: RequestListener = (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ usage: { prompt_tokens: 1_000, completion_tokens: 1_000 } }));
  };

  it('survives a provider that sends an invalid status, 502', async (t) => {
    const { ask, meter } = await withProvider(t, (_, response) => {
      response.socket?.end('HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nhi');
    });
    assert.equal((await ask()).status, 502);
    assert.equal(meter.take().costNanos, 0);
  });

  it('refuses the exact request that exceeds max_iterations, 402, and starts again with the next message', async (t) => {
    const { ask, limits, meter, provider } = await withProvider(t, fine, {
      limits: { requestsMax: 2, costNanosMax: null },
    });
    meter.beginTurn();
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await ask()).status);
    assert.deepEqual(statuses, [200, 200, 402, 402]);
    assert.deepEqual(limits, ['max_iterations']);
    assert.equal(provider.requests.length, 2);
    meter.beginTurn();
    assert.equal((await ask()).status, 200);
  });

  it('does not count up to four side requests per message as iterations, but counts all as usage', async (t) => {
    const { ask, meter, provider } = await withProvider(t, fine, {
      limits: { requestsMax: 2, costNanosMax: null },
    });
    const aside = { 'x-parley-aside': '1' };
    const statuses = [];
    for (const headers of [aside, {}, aside, aside, aside, aside, aside, {}])
      statuses.push((await ask(headers)).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 402, 402]);
    assert.equal(meter.take().requests, 6);
    assert.ok(provider.requests.every(({ headers }) => headers['x-parley-aside'] === undefined));
    meter.beginTurn();
    assert.deepEqual([(await ask(aside)).status, (await ask()).status], [200, 200]);
  });

  it('allows side requests when max_iterations is reached, but not beyond the budget', async (t) => {
    const aside = { 'x-parley-aside': '1' };
    const counted = await withProvider(t, fine, { limits: { requestsMax: 1, costNanosMax: null } });
    assert.deepEqual([(await counted.ask()).status, (await counted.ask(aside)).status], [200, 200]);
    assert.deepEqual(counted.limits, []);
    const spent = await withProvider(t, fine, { limits: { requestsMax: null, costNanosMax: 1 } });
    assert.deepEqual([(await spent.ask(aside)).status, (await spent.ask(aside)).status], [200, 402]);
    assert.deepEqual(spent.limits, ['max_budget']);
  });

  it('accepts no other value of the header for a side request', async (t) => {
    const { ask } = await withProvider(t, fine, { limits: { requestsMax: 1, costNanosMax: null } });
    const claimed = { 'x-parley-aside': 'true' };
    assert.deepEqual([(await ask(claimed)).status, (await ask(claimed)).status], [200, 402]);
  });

  it('refuses, 402, once the budget is used up, which the next message does not change', async (t) => {
    const { ask, limits, meter } = await withProvider(t, fine, {
      limits: { requestsMax: null, costNanosMax: 1 },
    });
    assert.deepEqual([(await ask()).status, (await ask()).status], [200, 402]);
    meter.beginTurn();
    assert.equal((await ask()).status, 402);
    assert.ok(limits.every((limit) => limit === 'max_budget') && limits.length > 0);
  });

  it('retries transient errors, and reports it', async (t) => {
    let count = 0;
    const { ask, notices } = await withProvider(t, (request, response) => {
      if (++count < 2) response.writeHead(429, { 'retry-after': '0.01' }).end();
      else fine(request, response);
    });
    assert.equal((await ask()).status, 200);
    assert.equal(count, 2);
    assert.match(notices[0] ?? '', /429.*again/);
  });

  it('forwards nothing of an error that quotes the API key', async (t) => {
    const quoting =
      (status: number): RequestListener =>
      (_, response) => {
        response.writeHead(status).end(`{"error":"the key ${modelKey} is wrong"}`);
      };
    for (const [status, expected] of [
      [401, 402],
      [400, 400],
    ] as const) {
      const { ask, notices } = await withProvider(t, quoting(status));
      const answer = await ask();
      assert.equal(answer.status, expected);
      assert.ok(!`${await answer.text()} ${notices.join()}`.includes(modelKey));
      assert.equal(notices.length, 1);
    }
  });

  it('says what is missing, 402: a model, a provider, an API key, an API that the provider offers', async (t) => {
    const cases: readonly [Partial<GatewayOptions>, number, RegExp][] = [
      [{ model: null }, 0, /No model is set/],
      [{ model: 'nobody/x' }, 0, /no known provider/],
      [{ model: 'gpt-4o' }, 0, /no known provider/],
      [{ key: undefined }, 0, /No API key/],
      [{ model: 'openai/gpt-4o' }, 2, /does not offer/],
      [{ model: 'litellm_proxy/x' }, 0, /llm_base_url/],
      [{ baseUrl: 'https://models.example.com' }, 2, /chat completions/],
    ];
    for (const [more, index, sentence] of cases) {
      const { url, notices } = await openGateway(t, more);
      const { path, body } = modelRequests[index] as (typeof modelRequests)[number];
      const answer = await post(url, path, body);
      assert.equal(answer.status, 402);
      assert.match(await answer.text(), sentence);
      assert.match(notices[0] ?? '', sentence);
    }
  });

  it('reaches a custom base URL without an API key if none is set, and private addresses only if allowed', async (t) => {
    const provider = await listenOnLoopback(t, fine);
    const custom = { model: 'openai/local', baseUrl: `${provider.url}/v1`, key: undefined };
    const { url, notices, meter } = await openGateway(t, { ...custom, allowPrivate: () => true });
    assert.equal((await post(url, modelRequests[0].path, modelRequests[0].body)).status, 200);
    assert.equal(provider.requests[0]?.url, '/v1/chat/completions');
    assert.equal(provider.requests[0]?.headers.authorization, undefined);
    assert.equal(meter.take().costNanos, 0);
    assert.match(notices[0] ?? '', /free/);
    const refused = await openGateway(t, custom);
    assert.equal((await post(refused.url, modelRequests[0].path, modelRequests[0].body)).status, 402);
    assert.equal(provider.requests.length, 1);
  });

  it('aborts the request to the provider when the agent disconnects, and meters what arrived', async (t) => {
    const { url, provider, meter } = await withProvider(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n');
    });
    const controller = new AbortController();
    const answer = await fetch(url + modelRequests[0].path, {
      method: 'POST',
      body: JSON.stringify({ ...modelRequests[0].body, stream: true }),
      signal: controller.signal,
    });
    await answer.body?.getReader().read();
    controller.abort();
    await until('the connection is closed', async () => (await provider.openConnections()) === 0);
    await until('it is counted', () => meter.take().output > 0);
  });

  it('forwards provider errors unchanged if the API key is empty', async (t) => {
    const { ask } = await withProvider(t, (_, response) => void response.writeHead(400).end('no'), {
      key: '',
    });
    assert.equal(await (await ask()).text(), 'no');
  });

  it("refuses requests that reach into the user's account, 400, says why, and does not send them", async (t) => {
    const { ask, notices, meter, provider } = await withProvider(t, fine);
    const file = { type: 'file', file: { file_id: 'file-1' } };
    const answer = await ask({}, { messages: [{ role: 'user', content: [file] }] });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /does not pass file_id on/);
    assert.equal(notices.length, 1);
    assert.equal(provider.requests.length, 0);
    assert.equal(meter.take().requests, 0);
  });

  it('accepts only model requests, 404, and only JSON objects, 402', async (t) => {
    const { url } = await openGateway(t, {});
    for (const path of ['/openai/v1/files', '/other', '/openai/v1/chat/completions/../files'])
      assert.equal((await post(url, path, {})).status, 404, path);
    assert.equal((await fetch(`${url}/openai/v1/chat/completions`)).status, 404);
    assert.equal((await fetch(url + modelRequests[0].path, { method: 'POST', body: '[]' })).status, 402);
  });
});
