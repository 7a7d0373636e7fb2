// The tool servers that a run gives its agent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startMcpServer } from '../../test/support/mcpServer.ts';
import { startRuns } from '../../test/support/runs.ts';
import { errorsAndNotices } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';

const env = { PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' };
const stdio = { name: 'files', command: 'files-mcp', args: ['--all'], env: { TOKEN: 'of-the-files' } };

describe('the MCP servers of a run', () => {
  it('are those of the settings, unchanged if the agent starts them itself', async (t) => {
    const mcp_config = { stdio_servers: [stdio], sse_servers: [], shttp_servers: [] };
    const { create, turns } = await startRuns({ settings: { mcp_config } }, t);
    const id = await create('mcp-servers');
    assert.deepEqual(await turns(id, 1), ['files stdio files-mcp --all env:TOKEN']);
  });

  it('are those of the request if it has some, whatever the settings say', async (t) => {
    const mcp_config = { stdio_servers: [stdio], sse_servers: [], shttp_servers: [] };
    const { create, turns } = await startRuns({ settings: { mcp_config } }, t);
    const own = { ...mcp_config, stdio_servers: [{ ...stdio, name: 'other' }] };
    const id = await create('mcp-servers', { mcp_config: own });
    assert.deepEqual(await turns(id, 1), ['other stdio files-mcp --all env:TOKEN']);
    const none = await create('mcp-servers', { mcp_config: { ...mcp_config, stdio_servers: [] } });
    assert.deepEqual(await turns(none, 1), ['no MCP servers']);
  });

  it('are left out, and the log says so, if the agent does not support them', async (t) => {
    const mcp_config = {
      stdio_servers: [stdio],
      sse_servers: [{ url: 'https://a.example/sse' }],
      shttp_servers: [{ url: 'https://b.example/mcp' }],
    };
    const { create, turns, events } = await startRuns({ flags: ['--no-http-mcp'] }, t);
    const id = await create('mcp-servers', { mcp_config });
    assert.deepEqual(await turns(id, 1), ['files stdio files-mcp --all env:TOKEN']);
    assert.deepEqual(errorsAndNotices(await events(id)), [
      'The MCP server https://a.example/sse is not available: this agent does not support MCP servers over SSE.',
      'The MCP server https://b.example/mcp is not available: this agent does not support MCP servers over HTTP.',
    ]);
  });
});

for (const sandbox of ['process', 'bubblewrap'] as const)
  describe(`a remote MCP server in ${sandbox}`, {
    skip: sandbox === 'bubblewrap' && noBubblewrap,
  }, () => {
    it('is reached through the bridge, which adds its API key outside', async (t) => {
      const sse = await startMcpServer(t, { form: 'sse', key: 'key-of-sse', tools: ['one'] });
      const http = await startMcpServer(t, { form: 'json', key: 'key-of-http', tools: ['two'] });
      const mcp_config = {
        sse_servers: [{ url: sse.url, api_key: 'key-of-sse' }],
        shttp_servers: [{ url: http.url, api_key: 'key-of-http' }],
      };
      const { create, turns, say } = await startRuns({ sandbox, env, settings: { mcp_config } }, t);
      const id = await create('mcp-servers');
      const [described = ''] = await turns(id, 1);
      assert.match(
        described,
        /^127_0_0_1 sse http:\/\/127\.0\.0\.1:\d+\/mcp\/0 headers:Authorization\n127_0_0_1_2 http http:\/\/127\.0\.0\.1:\d+\/mcp\/1 headers:Authorization$/,
      );
      await say(id, 'mcp-tools 127_0_0_1\nmcp-tools 127_0_0_1_2');
      const answers = (await turns(id, 2)).slice(1).join('');
      assert.match(answers, /^202 .*"name":"one".*200 .*"name":"two"/);
      const own = { shttp_servers: [{ url: http.url, api_key: 'key-of-http' }] };
      const other = await create('mcp-tools 127_0_0_1', { mcp_config: own });
      assert.match((await turns(other, 1)).join(''), /^200 .*"name":"two"/);
    });

    it('cannot be reached if it is private and private addresses are not allowed', async (t) => {
      const http = await startMcpServer(t, { form: 'json' });
      const { create, turns } = await startRuns({ sandbox, env: { PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' } }, t);
      const id = await create('mcp-tools 127_0_0_1', { mcp_config: { shttp_servers: [{ url: http.url }] } });
      assert.match((await turns(id, 1)).join(''), /^502 The MCP server could not be reached\./);
      assert.equal(http.requests.length, 0);
    });
  });

for (const sandbox of ['process', 'bubblewrap'] as const)
  describe(`web search in ${sandbox}`, { skip: sandbox === 'bubblewrap' && noBubblewrap }, () => {
    const key = 'tvly-hunter2hunter2';
    const searchEnv = (url: string) => ({ PARLEY_SEARCH_URL: url, PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' });

    it('is an MCP server of every run, whose API key arrives there and nowhere inside', async (t) => {
      const server = await startMcpServer(t, { form: 'json', key, tools: ['search_the_web'] });
      const settings = { search_api_key: key };
      const runs = await startRuns({ sandbox, env: searchEnv(server.url), settings }, t);
      const look = 'really-run env; cat /proc/$PPID/environ; grep -r hunter2 ~ .';
      const id = await runs.create(`mcp-servers\nmcp-tools 127_0_0_1\n${look}`, { mcp_config: {} });
      const said = (await runs.turns(id, 1)).join('');
      assert.match(said, /^127_0_0_1 http http:\/\/127\.0\.0\.1:\d+\/mcp\/0 headers:Authorization/);
      assert.match(said, /200 .*"name":"search_the_web"/);
      assert.ok(server.requests.length > 0);
      assert.ok(server.requests.every(({ headers }) => headers.authorization === `Bearer ${key}`));
      const log = JSON.stringify(await runs.events(id));
      assert.ok(!log.includes('hunter2hunter2') && !runs.service.logs().includes(key));
      await runs.say(id, `say ${key}`);
      assert.equal((await runs.turns(id, 2)).at(-1), '**********');
    });
  });

describe('web search', () => {
  it('does not exist without an API key', async (t) => {
    const { create, turns } = await startRuns({ env: { PARLEY_SEARCH_URL: 'http://127.0.0.1:1/mcp' } }, t);
    assert.deepEqual(await turns(await create('mcp-servers'), 1), ['no MCP servers']);
  });
});
