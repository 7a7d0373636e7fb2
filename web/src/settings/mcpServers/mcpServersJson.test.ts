import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromMcpServersJson, UnsupportedField } from './mcpServersJson.ts';

const rejectedAt = (servers: unknown, at: string) =>
  assert.throws(
    () => fromMcpServersJson({ mcpServers: servers }),
    (error) => error instanceof UnsupportedField && error.message === at,
  );

describe('mcpServers', () => {
  it('become stdio, HTTP and SSE servers, each in its list', () => {
    const headers = { authorization: 'Bearer k' };
    const found = fromMcpServersJson({
      mcpServers: {
        files: { command: 'npx', args: ['-y', 'files'], env: { A: 'b' }, type: 'stdio', disabled: false },
        docs: { url: 'https://docs.example', headers },
        old: { url: 'https://old.example/sse', type: 'sse' },
      },
    });
    assert.deepEqual(found, {
      names: ['files', 'docs', 'old'],
      config: {
        shttp_servers: [{ url: 'https://docs.example', api_key: 'k' }],
        sse_servers: [{ url: 'https://old.example/sse' }],
        stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files'], env: { A: 'b' } }],
      },
    });
  });

  it('are rejected if they have fields that the settings record lacks', () => {
    const url = 'https://a.example';
    rejectedAt({ a: { url, headers: { 'X-Key': 'k' } } }, 'mcpServers.a.headers.X-Key');
    rejectedAt({ a: { url, headers: { Authorization: 'Basic k' } } }, 'mcpServers.a.headers.Authorization');
    rejectedAt({ a: { url, type: 'ws' } }, 'mcpServers.a.type');
    rejectedAt({ a: { command: 'x', cwd: '/tmp' } }, 'mcpServers.a.cwd');
    rejectedAt({ a: { command: 'x', disabled: true } }, 'mcpServers.a.disabled');
    rejectedAt({ a: 'x' }, 'mcpServers.a');
    rejectedAt([], 'mcpServers');
    assert.throws(
      () => fromMcpServersJson({ mcpServers: {}, sse_servers: [] }),
      new UnsupportedField('sse_servers'),
    );
  });

  it('are distinguished from other formats', () => {
    for (const other of [null, 'x', [], {}, { sse_servers: [] }])
      assert.equal(fromMcpServersJson(other), undefined);
  });
});
