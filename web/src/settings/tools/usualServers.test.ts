// Tool servers as other programs have them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromUsual, NoCounterpart } from './usualServers.ts';

const refusedAt = (servers: unknown, at: string) =>
  assert.throws(
    () => fromUsual({ mcpServers: servers }),
    (error) => error instanceof NoCounterpart && error.message === at,
  );

describe('mcpServers', () => {
  it('become programs and servers on the web, each in its list', () => {
    const headers = { authorization: 'Bearer k' };
    const found = fromUsual({
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

  it('are refused where they say what the record cannot hold', () => {
    const url = 'https://a.example';
    refusedAt({ a: { url, headers: { 'X-Key': 'k' } } }, 'mcpServers.a.headers.X-Key');
    refusedAt({ a: { url, headers: { Authorization: 'Basic k' } } }, 'mcpServers.a.headers.Authorization');
    refusedAt({ a: { url, type: 'ws' } }, 'mcpServers.a.type');
    refusedAt({ a: { command: 'x', cwd: '/tmp' } }, 'mcpServers.a.cwd');
    refusedAt({ a: { command: 'x', disabled: true } }, 'mcpServers.a.disabled');
    refusedAt({ a: 'x' }, 'mcpServers.a');
    refusedAt([], 'mcpServers');
    assert.throws(() => fromUsual({ mcpServers: {}, sse_servers: [] }), new NoCounterpart('sse_servers'));
  });

  it('are told from all else', () => {
    for (const other of [null, 'x', [], {}, { sse_servers: [] }]) assert.equal(fromUsual(other), undefined);
  });
});
