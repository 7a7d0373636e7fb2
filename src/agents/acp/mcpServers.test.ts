import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toMcpServers } from './mcpServers.ts';

const config = {
  sse_servers: [{ url: 'https://a.example/sse?key=hidden', api_key: 'hidden' }],
  stdio_servers: [
    { name: 'b_example', command: 'serve', args: ['-v'], env: { TOKEN: 'inside' } },
    { name: 'plain', command: 'serve' },
  ],
  shttp_servers: [
    { url: 'https://b.example/mcp', api_key: 'hidden' },
    { url: 'wss://c.example/mcp' },
    { url: 'https://b.example/other' },
  ],
};
const bridge = { origin: 'http://127.0.0.1:9', token: 'pr_token' };
const headers = [{ name: 'Authorization', value: 'Bearer pr_token' }];
const capabilities = { mcpCapabilities: { http: true, sse: true } };

describe('the MCP servers of an agent', () => {
  it('are those of the conversation, the remote ones at the bridge by their index', () => {
    const { servers, refused } = toMcpServers({ config, capabilities, bridge });
    assert.deepEqual(servers, [
      { name: 'b_example', command: 'serve', args: ['-v'], env: [{ name: 'TOKEN', value: 'inside' }] },
      { name: 'plain', command: 'serve', args: [], env: [] },
      { type: 'sse', name: 'a_example', url: 'http://127.0.0.1:9/mcp/0', headers },
      { type: 'http', name: 'b_example_2', url: 'http://127.0.0.1:9/mcp/1', headers },
      { type: 'http', name: 'b_example_3', url: 'http://127.0.0.1:9/mcp/3', headers },
    ]);
    assert.deepEqual(refused, [
      'The MCP server wss://c.example/mcp is not available: no agent supports WebSocket servers.',
    ]);
    assert.ok(!JSON.stringify({ servers, refused }).includes('hidden'));
  });

  it('leave out servers that the agent does not support, and name them', () => {
    const { servers, refused } = toMcpServers({
      config,
      capabilities: { mcpCapabilities: { http: true } },
      bridge,
    });
    assert.equal(servers.length, 4);
    assert.equal(
      refused[0],
      'The MCP server https://a.example/sse is not available: this agent does not support MCP servers over SSE.',
    );
  });

  it('are only those in the sandbox if it has no network access', () => {
    const { servers, refused } = toMcpServers({ config, capabilities, bridge: undefined });
    assert.equal(servers.length, 2);
    assert.equal(refused.length, 4);
    assert.match(String(refused[0]), /no network access/);
  });

  it('include the server of Parley itself under a unique name if the agent supports HTTP', () => {
    const named = { ...config, stdio_servers: [{ name: 'parley', command: 'serve' }] };
    for (const [given, name] of [
      [config, 'parley'],
      [named, 'parley_2'],
    ] as const) {
      const { servers } = toMcpServers({ config: given, capabilities, own: 'parley', bridge });
      assert.deepEqual(servers.at(-1), { type: 'http', name, url: 'http://127.0.0.1:9/parley', headers });
    }
    const none = toMcpServers({ config, capabilities: {}, own: 'parley', bridge });
    assert.equal(none.servers.length, 2);
    assert.match(String(none.refused.at(-1)), /^The tools for pull requests and issues are not available:/);
  });
});
