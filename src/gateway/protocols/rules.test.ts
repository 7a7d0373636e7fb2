import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../text/foreignText.ts';
import { Refusal } from '../refusal.ts';
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openaiChat.ts';
import { openaiResponses } from './openaiResponses.ts';

const protocols = {
  'openai-chat': { protocol: openaiChat, path: '/chat/completions' },
  'openai-responses': { protocol: openaiResponses, path: '/responses' },
  anthropic: { protocol: anthropic, path: '/v1/messages' },
  gemini: { protocol: gemini, path: '/v1beta/models/x:generateContent' },
};
type Name = keyof typeof protocols;

function prepare(name: Name, body: JsonObject): JsonObject {
  const { protocol, path } = protocols[name];
  const call = protocol.match(path);
  assert.ok(call);
  return protocol.prepare(call, body, 'mine').body;
}

const passed: Readonly<Record<Name, readonly [sent: JsonObject, body: JsonObject][]>> = {
  'openai-chat': [
    [
      { store: true, service_tier: 'priority', n: 4, web_search_options: {}, models: ['dear'], messages: [] },
      { model: 'mine', messages: [] },
    ],
    [
      { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }], tool_choice: 'required' },
      { model: 'mine' },
    ],
    [
      { tools: [{ type: 'function', function: { name: 'file_id' } }], tool_choice: 'auto' },
      { model: 'mine', tools: [{ type: 'function', function: { name: 'file_id' } }], tool_choice: 'auto' },
    ],
  ],
  'openai-responses': [
    [
      { store: true, background: true, service_tier: 'flex', previous_response_id: null, input: 'hi' },
      { model: 'mine', store: false, previous_response_id: null, input: 'hi' },
    ],
    [
      {
        tools: [
          { type: 'function', name: 'f', parameters: { properties: { file_id: {} } } },
          { type: 'namespace', name: 'n', tools: [] },
          { type: 'web_search' },
          { type: 'code_interpreter', container: 'c' },
        ],
        tool_choice: { type: 'web_search' },
      },
      {
        model: 'mine',
        store: false,
        tools: [
          { type: 'function', name: 'f', parameters: { properties: { file_id: {} } } },
          { type: 'namespace', name: 'n', tools: [] },
        ],
      },
    ],
  ],
  anthropic: [
    [
      { service_tier: 'auto', container: 'c', speed: 'fast', mcp_servers: [] },
      { model: 'mine', mcp_servers: [] },
    ],
    [
      {
        tools: [
          { name: 'mine', input_schema: {} },
          { type: 'bash_20250124', name: 'bash' },
          { type: 'text_editor_20250728', name: 'edit' },
          { type: 'memory_20250818', name: 'memory' },
          { type: 'web_search_20250305', name: 'web_search' },
          { type: 'code_execution_20250825', name: 'code_execution' },
        ],
        tool_choice: { type: 'auto' },
      },
      {
        model: 'mine',
        tools: [
          { name: 'mine', input_schema: {} },
          { type: 'bash_20250124', name: 'bash' },
          { type: 'text_editor_20250728', name: 'edit' },
          { type: 'memory_20250818', name: 'memory' },
        ],
        tool_choice: { type: 'auto' },
      },
    ],
    // What a tool of the agent is given is its own affair.
    [
      { messages: [{ content: [{ type: 'tool_use', input: { file_id: 'x' } }] }], tools: [] },
      { model: 'mine', messages: [{ content: [{ type: 'tool_use', input: { file_id: 'x' } }] }], tools: [] },
    ],
  ],
  gemini: [
    [
      { tools: [{ functionDeclarations: [], googleSearch: {} }, { codeExecution: {} }, { url_context: {} }] },
      { tools: [{ functionDeclarations: [] }] },
    ],
    [
      { tools: [{ google_search: {} }], toolConfig: {}, service_tier: 'priority', contents: [] },
      { contents: [] },
    ],
  ],
};

const file = { type: 'input_file', file_id: 'f' };
const document = { type: 'document', source: { type: 'file', file_id: 'f' } };
const fileData = { fileData: { fileUri: 'https://files.example.com/1' } };

const refused: Readonly<Record<Name, readonly [sent: JsonObject, member: string][]>> = {
  'openai-chat': [
    [{ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }, 'file_id'],
    [{ extra_body: { google: { cached_content: 'c' } } }, 'cached_content'],
  ],
  'openai-responses': [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ input: [{ role: 'user', content: [file] }] }, 'file_id'],
    [{ input: [{ type: 'function_call_output', output: [file] }] }, 'file_id'],
    [{ tools: [{ type: 'mcp', server_url: 'https://tools.example.com' }] }, 'server_url'],
    [{ tools: [{ type: 'mcp', connector_id: 'connector_mail' }] }, 'connector_id'],
  ],
  anthropic: [
    [{ mcp_servers: [{ type: 'url' }] }, 'mcp_servers'],
    [{ messages: [{ role: 'user', content: [document] }] }, 'file_id'],
    [{ messages: [{ content: [{ type: 'tool_result', content: [document] }] }] }, 'file_id'],
    [{ messages: [{ content: [{ type: 'container_upload', file_id: 'f' }] }] }, 'file_id'],
  ],
  gemini: [
    [{ cachedContent: 'cachedContents/1' }, 'cachedContent'],
    [{ cached_content: 'cachedContents/1' }, 'cached_content'],
    [{ contents: [{ parts: [fileData] }] }, 'fileData'],
    [{ system_instruction: { parts: [{ file_data: {} }] } }, 'file_data'],
    [{ generateContentRequest: { cachedContent: 'cachedContents/1' } }, 'cachedContent'],
  ],
};

for (const name of Object.keys(protocols) as Name[])
  describe(`a request in ${name}`, () => {
    for (const [sent, body] of passed[name])
      it(`loses what runs or is kept at the provider: ${Object.keys(sent).join()}`, () => {
        assert.deepEqual(prepare(name, sent), body);
      });

    for (const [sent, member] of refused[name])
      it(`is refused with ${member} in ${Object.keys(sent).join()}, 400`, () => {
        assert.throws(
          () => prepare(name, sent),
          (error) =>
            error instanceof Refusal && error.status === 400 && error.message.includes(` ${member} `),
        );
      });
  });

describe('a deeply nested request', () => {
  it('is searched completely', () => {
    let content: unknown = [{ file_id: 'f' }];
    for (let i = 0; i < 100_000; i++) content = [{ content }];
    assert.throws(() => prepare('anthropic', { messages: content }), Refusal);
  });
});
