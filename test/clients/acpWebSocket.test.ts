// The WebSocket client of the official SDK.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { WebSocket } from 'ws';
import { choose, connectAcp } from '../support/acpClient.ts';
import { startRuns } from '../support/runs.ts';

type Options = NonNullable<Parameters<typeof createWebSocketStream>[1]>;

describe('the WebSocket client of the ACP SDK', { timeout: 300_000 }, () => {
  it('has a session, which another connection loads', async (t) => {
    const { service } = await startRuns({ settings: { confirmation_mode: true } }, t);
    const open = (headers: Record<string, string>) => {
      const socket = { WebSocket } as unknown as Pick<Options, 'WebSocket'>;
      return createWebSocketStream(`${service.url.replace('http', 'ws')}/acp`, { ...socket, headers });
    };
    const client = await connectAcp(open({ 'X-Session-API-Key': service.key }), {
      decide: () => choose('allow'),
    });
    const id = await client.newSession();
    assert.equal(await client.prompt(id, 'say Hello\nask-run echo one'), 'end_turn');
    assert.match(client.text(id), /^Hello/);
    assert.equal(client.permissions.length, 1);
    client.close();
    const { body } = await service.ask('/api/keys', { json: { name: 'editor', bearer: true } });
    const other = await connectAcp(open({ Authorization: `Bearer ${body.key}` }));
    await other.context.request('session/load', { sessionId: id, cwd: '/', mcpServers: [] });
    assert.equal(other.text(id), client.text(id));
    other.close();
    await assert.rejects(connectAcp(open({})), /401|closed/);
  });
});
