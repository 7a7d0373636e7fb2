import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startAgentBench, temporary } from '../../../test/support/agentBench.ts';
import { listenOnLoopback, pretenders, startMcpServer } from '../../../test/support/mcpServer.ts';
import { createEventMapper } from '../acp/events.ts';
import { openMcpServers } from './mcpServers.ts';

const stdioServer = `
import { createInterface } from 'node:readline';
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'get env', description: 'd', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { name } }) => ({ content: [{ type: 'text', text: name + '=' + process.env[name] + ' in ' + process.cwd() }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }));
});
`;

function stdio(t: TestContext) {
  const file = join(temporary(t), 'server.mjs');
  writeFileSync(file, stdioServer);
  return {
    name: 'my files',
    command: process.execPath,
    args: [file],
    env: [{ name: 'WORD', value: 'told' }],
  };
}

const use = (signal = new AbortController().signal) => ({ cwd: '/', signal, onOutput: () => {} });

describe('MCP servers', () => {
  it('over stdio run with their environment in the workspace', async (t) => {
    const cwd = temporary(t);
    const { tools, faults, close } = await openMcpServers({ servers: [stdio(t)], cwd, env: process.env });
    t.after(close);
    assert.deepEqual(faults, []);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['mcp__my_files__get_env'],
    );
    const result = await tools[0]?.run({ name: 'WORD' } as never, use());
    assert.deepEqual(result, { text: `WORD=told in ${cwd}` });
  });

  for (const form of ['json', 'stream', 'sse'] as const)
    it(`work over HTTP, in the form ${form}`, async (t) => {
      const server = await startMcpServer(t, { form, tools: ['a', 'b', 'c'], pageSize: 2, key: 'k' });
      const headers = [{ name: 'Authorization', value: 'Bearer k' }];
      const { tools, faults, close } = await openMcpServers({
        servers: [{ type: form === 'sse' ? 'sse' : 'http', name: 'far', url: server.url, headers }],
        cwd: '/',
        env: {},
      });
      t.after(close);
      assert.deepEqual(faults, []);
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['mcp__far__a', 'mcp__far__b', 'mcp__far__c'],
      );
      const result = await tools[1]?.run({ x: 1 } as never, use());
      assert.match(result?.text ?? '', /b/);
    });

  it('that fail are named, and do not affect the others', async (t) => {
    const broken = await listenOnLoopback(t, pretenders.failing);
    const { tools, faults, close } = await openMcpServers({
      servers: [
        { type: 'http', name: 'broken', url: broken.url, headers: [] },
        { name: 'absent', command: '/nonexistent/program', args: [], env: [] },
        stdio(t),
      ],
      cwd: temporary(t),
      env: process.env,
    });
    t.after(close);
    assert.equal(tools.length, 1);
    assert.match(faults.toSorted().join('\n'), /absent cannot be used.*\n.*broken cannot be used/);
  });

  it('that cannot be used are reported once, as a notice', async (t) => {
    const absent = { name: 'absent', command: '/nonexistent/program', args: [], env: [] };
    const bench = await startAgentBench(t, { script: [{ say: 'Done.' }], mcpServers: [absent] });
    await bench.open();
    await bench.prompt('go');
    await bench.prompt('again');
    const mapper = createEventMapper();
    const notices = bench.updates
      .flatMap((update) => mapper.take(update as never))
      .filter((event) => 'observation' in event && event.observation === 'notice');
    assert.equal(notices.length, 1);
    assert.match(notices[0]?.message ?? '', /^The agent reports: The MCP server absent cannot be used: /);
  });

  it('provide tools like those of the agent itself, which need approval', async (t) => {
    const script = [{ call: { tool: 'get_env', input: { name: 'WORD' } } }, { say: 'Done.' }];
    const bench = await startAgentBench(t, { script, mcpServers: [stdio(t)] });
    await bench.open();
    await bench.prompt('go');
    assert.match(bench.model.exchanges[1]?.request.results[0] ?? '', /WORD=told/);
    assert.equal(bench.asked[0]?.toolCall.title, 'mcp__my_files__get_env');
  });
});
