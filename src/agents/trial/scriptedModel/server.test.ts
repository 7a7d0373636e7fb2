import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Step } from './script.ts';
import { createScriptedModel, listenScriptedModel } from './server.ts';
import { scriptedUsage } from './wire.ts';

const script: readonly Step[] = [
  { write: { path: '/w/a.txt', text: 'it\'s "text"' } },
  { run: 'ls' },
  { say: 'All done.' },
];

const text = { type: 'string' };
const writeSchema = {
  type: 'object',
  properties: { file_path: text, content: text, mode: { enum: ['new', 'old'] }, note: text },
  required: ['file_path', 'content', 'mode'],
};
const written = { file_path: '/w/a.txt', content: 'it\'s "text"', mode: 'new' };
const shellSchema = { type: 'object', properties: { command: { type: 'array' } }, required: ['command'] };

async function serve(t: TestContext, steps = script) {
  const model = createScriptedModel(steps);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const post = (path: string, body: unknown) =>
    fetch(origin + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return {
    model,
    post,
    ask: async (path: string, body: unknown) => (await post(path, body)).json() as Promise<never>,
    /** The data of every event of a stream. */
    stream: async (path: string, body: unknown) => {
      const response = await post(path, body);
      assert.match(response.headers.get('content-type') ?? '', /event-stream/);
      const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
      return lines.map((line) => line.slice('data: '.length));
    },
  };
}

const parsed = (events: readonly string[]) => events.map((data) => JSON.parse(data));

describe('the scripted model', () => {
  it('speaks chat completions', async (t) => {
    const { ask, stream, model } = await serve(t);
    const tools = [
      { type: 'function', function: { name: 'read', parameters: {} } },
      { type: 'function', function: { name: 'write', parameters: writeSchema } },
    ];
    const body = { model: 'm', tools, messages: [{ role: 'user', content: 'go' }] };
    const whole: {
      choices: { message: { tool_calls: { id: string; function: { arguments: string } }[] } }[];
    } = await ask('/any/v1/chat/completions', body);
    const call = whole.choices[0]?.message.tool_calls[0];
    assert.deepEqual(JSON.parse(call?.function.arguments ?? ''), written);
    const events = await stream('/any/v1/chat/completions', { ...body, stream: true });
    assert.equal(events.at(-1), '[DONE]');
    const chunks = parsed(events.slice(0, -1));
    assert.deepEqual(chunks[0].choices[0].delta.tool_calls[0], call);
    assert.equal(chunks[1].choices[0].finish_reason, 'tool_calls');
    assert.equal(chunks[2].usage.prompt_tokens, scriptedUsage.input);
    assert.equal(model.exchanges[0]?.request.prompt, 'go');
  });

  it('speaks responses', async (t) => {
    const { ask, stream } = await serve(t);
    const tools = [
      { type: 'function', name: 'shell', parameters: shellSchema },
      { type: 'custom', name: 'x' },
    ];
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      { type: 'function_call', call_id: 'call_0', name: 'shell', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_0', output: 'ok' },
    ];
    const body = { model: 'm', tools, input };
    const { output }: { output: { arguments: string }[] } = await ask('/v1/responses', body);
    assert.deepEqual(JSON.parse(output[0]?.arguments ?? ''), { command: ['sh', '-c', 'ls'] });
    const events = parsed(await stream('/v1/responses', { ...body, stream: true }));
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.output_item.added',
        'response.function_call_arguments.delta',
        'response.output_item.done',
        'response.completed',
      ],
    );
    assert.deepEqual(events.at(-1).response.output, output);
  });

  it('calls a tool in a namespace of responses by both names', async (t) => {
    const { ask } = await serve(t, [{ call: { tool: 'look_up', input: { word: 'x' } } }]);
    const kept = [{ type: 'function', name: 'look_up', parameters: {} }];
    const tools = [{ type: 'namespace', name: 'mcp__docs', tools: kept }];
    const { output }: { output: object[] } = await ask('/v1/responses', { model: 'm', tools, input: 'go' });
    const { namespace, name } = output[0] as { namespace: string; name: string };
    assert.deepEqual([namespace, name], ['mcp__docs', 'look_up']);
  });

  it('speaks messages', async (t) => {
    const { ask, stream } = await serve(t);
    const tools = [{ name: 'Write', input_schema: writeSchema }];
    const body = { model: 'm', tools, messages: [{ role: 'user', content: 'go' }] };
    const { content, stop_reason }: { content: { input: unknown }[]; stop_reason: string } = await ask(
      '/anthropic/v1/messages',
      body,
    );
    assert.deepEqual(content[0]?.input, written);
    assert.equal(stop_reason, 'tool_use');
    const events = parsed(await stream('/anthropic/v1/messages', { ...body, stream: true }));
    assert.deepEqual(JSON.parse(events[2].delta.partial_json), written);
    assert.equal(events.at(-1).type, 'message_stop');
    const counted: { input_tokens: number } = await ask('/anthropic/v1/messages/count_tokens', body);
    assert.equal(counted.input_tokens, scriptedUsage.input);
  });

  it('speaks generateContent', async (t) => {
    const { ask, stream, model } = await serve(t);
    const parameters = { ...writeSchema, type: 'OBJECT' };
    const tools = [{ functionDeclarations: [{ name: 'write_file', parameters }] }];
    const body = { tools, contents: [{ role: 'user', parts: [{ text: 'go' }] }] };
    type Reply = { candidates: { content: { parts: { functionCall: { args: unknown } }[] } }[] };
    const whole: Reply = await ask('/gemini/v1beta/models/m:generateContent', body);
    assert.deepEqual(whole.candidates[0]?.content.parts[0]?.functionCall.args, written);
    const events = await stream('/gemini/v1beta/models/a/m:streamGenerateContent?alt=sse', body);
    assert.deepEqual(parsed(events), [{ ...whole, modelVersion: 'a/m' }]);
    assert.equal(model.exchanges[1]?.request.model, 'a/m');
  });

  it('continues from the content of the request, and answers a repeated request in the same way', async (t) => {
    const { ask } = await serve(t, [{ run: 'one' }, { say: 'First.' }, { run: 'two' }, { say: 'Second.' }]);
    const tools = [{ name: 'bash', input_schema: { type: 'object', properties: { command: text } } }];
    const user = { role: 'user', content: 'go' };
    const used = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'out' }] },
    ];
    const said = (words: string) => ({ role: 'assistant', content: [{ type: 'text', text: words }] });
    const next = async (messages: object[]) => {
      const reply: { content: { text?: string; input?: { command: string } }[] } = await ask('/v1/messages', {
        model: 'm',
        tools,
        messages,
      });
      return reply.content[0]?.text ?? reply.content[0]?.input?.command;
    };
    assert.equal(await next([user]), 'one');
    assert.equal(await next([user]), 'one');
    assert.equal(await next([user, ...used]), 'First.');
    assert.equal(await next([user, ...used, said('First.'), user]), 'two');
    assert.equal(await next([user, ...used, said('First.'), user, ...used]), 'Second.');
    const all = [user, ...used, said('First.'), user, ...used, said('Second.'), user];
    assert.equal(await next(all), 'There is no more in the script.');
  });

  it('writes with a quoted command if there is no tool for it', async (t) => {
    const { ask } = await serve(t, [{ write: { path: '/w/a', text: "it's" } }]);
    const tools = [{ name: 'bash', input_schema: { properties: { command: text } } }];
    const { content }: { content: { input: unknown }[] } = await ask('/v1/messages', { tools });
    assert.deepEqual(content[0]?.input, { command: "printf %s 'it'\\''s' > '/w/a'" });
  });

  it('names the tools if none fits, and answers as a side request if there are none', async (t) => {
    const { ask, model } = await serve(t);
    await ask('/v1/messages', { tools: [{ name: 'write_stdin', input_schema: {} }] });
    const [exchange] = model.exchanges;
    assert.deepEqual(exchange?.answer, {
      text: 'There is no tool to write a file among write_stdin.',
      fault: 'no tool to write a file among write_stdin',
    });
    const { content }: { content: { text: string }[] } = await ask('/v1/messages', { messages: [] });
    assert.equal(content[0]?.text, 'Scripted.');
  });

  it('refuses other paths, 404, bodies that are not JSON, 400, and an agent that never ends, 402', async (t) => {
    const { post } = await serve(t, [{ say: 'x' }]);
    const statusOf = async (path: string, body: unknown) => (await post(path, body)).status;
    assert.equal(await statusOf('/v1/nonsense', {}), 404);
    assert.equal(await statusOf('/v1/messages', '{'), 400);
    let status = 0;
    for (let i = 0; i <= 200; i++) status = await statusOf('/v1/messages', {});
    assert.equal(status, 402);
  });
});
