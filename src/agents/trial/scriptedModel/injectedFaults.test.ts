import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Step } from './script.ts';
import { createScriptedModel, listenScriptedModel } from './server.ts';

const words = 'All is well that ends.';

const apis = [
  {
    name: 'chat completions',
    path: '/v1/chat/completions',
    body: { messages: [] },
    stream: { stream: true },
  },
  { name: 'responses', path: '/v1/responses', body: { input: 'go' }, stream: { stream: true } },
  { name: 'messages', path: '/v1/messages', body: { messages: [] }, stream: { stream: true } },
  {
    name: 'generateContent',
    path: '/v1beta/models/m:generateContent',
    streamPath: '/v1beta/models/m:streamGenerateContent',
    body: { contents: [] },
    stream: {},
  },
] as const;
type Api = (typeof apis)[number];

async function serve(t: TestContext, script: readonly Step[]) {
  const model = createScriptedModel(script);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const ask = (api: Api, streamed = false, more = {}) => {
    const path = streamed && 'streamPath' in api ? api.streamPath : api.path;
    const body = { model: 'm', ...api.body, ...(streamed ? api.stream : {}), ...more };
    return fetch(origin + path, { method: 'POST', body: JSON.stringify(body) });
  };
  return { model, ask };
}

/** The text of every part of a stream that has some, whatever the API. */
function textsOf(stream: string): string[] {
  const parts = stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
  return parts
    .map(
      ({ choices, type, delta, candidates }) =>
        choices?.[0]?.delta.content ??
        (type === 'response.output_text.delta' ? delta : delta?.text) ??
        candidates?.[0].content.parts[0].text,
    )
    .filter((text) => text !== undefined);
}

const [chat] = apis;

describe('a scripted model with injected faults', () => {
  for (const api of apis)
    it(`streams a text word by word in ${api.name}`, async (t) => {
      const { ask } = await serve(t, [{ say: words }]);
      const texts = textsOf(await (await ask(api, true)).text());
      assert.deepEqual(texts, ['All ', 'is ', 'well ', 'that ', 'ends.']);
    });

  it('fails with a status as often as the script says, and then continues', async (t) => {
    const { ask, model } = await serve(t, [
      { fail: { status: 429, retryAfterS: 3 }, times: 2 },
      { fail: { status: 500 } },
      { say: words },
    ]);
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const { status, headers } = await ask(chat);
      seen.push([status, headers.get('retry-after')]);
    }
    assert.deepEqual(seen, [
      [429, '3'],
      [429, '3'],
      [500, null],
      [200, null],
    ]);
    assert.deepEqual(
      model.exchanges.map(({ fault }) => fault !== undefined),
      [true, true, true, false],
    );
  });

  it('drops a connection before the first byte', async (t) => {
    const { ask } = await serve(t, [{ drop: 'before' }, { say: words }]);
    await assert.rejects(ask(chat));
    assert.equal((await ask(chat)).status, 200);
  });

  for (const streamed of [false, true])
    it(`drops a connection in the middle of a response${streamed ? ', streamed' : ''}`, async (t) => {
      const { ask } = await serve(t, [{ drop: 'middle' }, { say: words }]);
      const answer = await ask(chat, streamed);
      assert.equal(answer.status, 200);
      await assert.rejects(answer.text());
      assert.match(await (await ask(chat, streamed)).text(), /ends\./);
    });

  it('is slow with the first byte and with each piece', async (t) => {
    const { ask } = await serve(t, [{ slow: { firstMs: 60, betweenMs: 30 } }, { say: words }]);
    const began = performance.now();
    const answer = await ask(chat, true);
    const first = performance.now() - began;
    assert.deepEqual(textsOf(await answer.text()).join(''), words);
    assert.ok(first >= 55, `${first} ms`);
    // Eight pieces: five words, the end, the usage, and the mark.
    assert.ok(performance.now() - began >= 250);
  });

  it('affects the step after the fault, but no side request', async (t) => {
    const { ask } = await serve(t, [{ say: words }, { fail: { status: 503 } }, { run: 'ls' }]);
    const messages = [{ role: 'assistant', content: words }];
    const tools = [{ function: { name: 'bash', parameters: { properties: { command: {} } } } }];
    assert.equal((await ask(chat)).status, 200);
    assert.match(await (await ask(chat, false, { messages })).text(), /Scripted\./);
    assert.equal((await ask(chat, false, { messages, tools })).status, 503);
    assert.match(await (await ask(chat, false, { messages, tools })).text(), /"bash"/);
  });
});

describe('a step that calls a tool by the end of its name', () => {
  const script: readonly Step[] = [{ call: { tool: 'get-weather', input: { city: 'Ulm' } } }];
  const offer = (...names: string[]) => ({ tools: names.map((name) => ({ function: { name } })) });

  it('finds the tool whatever the agent puts before its name', async (t) => {
    for (const name of [
      'get-weather',
      'mcp__sky__get-weather',
      'sky_get_weather',
      'mcp.sky.GetWeather.get-weather',
    ]) {
      const { ask, model } = await serve(t, script);
      await (await ask(chat, false, offer('bash', 'forget-weather', name))).text();
      const [exchange] = model.exchanges;
      assert.deepEqual(exchange?.answer, { call: { id: 'call_0', name, input: { city: 'Ulm' } } });
    }
  });

  it('names the tools if it is not among them', async (t) => {
    const { ask, model } = await serve(t, script);
    await (await ask(chat, false, offer('bash', 'forget-weather'))).text();
    const fault = 'no tool get-weather among bash, forget-weather';
    assert.deepEqual(model.exchanges[0]?.answer, { text: `There is ${fault}.`, fault });
  });
});
