import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultSearchUrl, withSearch } from './search.ts';
import { noMcp } from './secrets.ts';

const own = { ...noMcp.masked, shttp_servers: [{ url: 'https://a.example/mcp' }] };

describe('web search among the tool servers', () => {
  it('comes last, with the key', () => {
    assert.deepEqual(withSearch(own, defaultSearchUrl, 'key').shttp_servers, [
      { url: 'https://a.example/mcp' },
      { url: 'https://mcp.tavily.com/mcp/', api_key: 'key' },
    ]);
  });

  it('is not there without a key', () => {
    for (const key of [undefined, '']) assert.equal(withSearch(own, defaultSearchUrl, key), own);
  });

  it('does not stand beside a server of the user at the same host', () => {
    for (const list of ['sse_servers', 'shttp_servers'] as const) {
      const config = { ...own, [list]: [{ url: 'https://MCP.tavily.com/mcp?x=1', api_key: 'of-mine' }] };
      assert.equal(withSearch(config, defaultSearchUrl, 'key'), config);
    }
  });
});
