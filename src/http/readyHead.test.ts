import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { openConnection } from '../../test/support/connection.ts';
import { until } from '../../test/support/until.ts';
import { readyHead, sendReady } from './readyHead.ts';

describe('a ready answer', () => {
  it('that waits behind another does not wait for ever', async (t) => {
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => void responses.push(response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const connection = await openConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.after(connection.close);
    connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2));
    await until('both requests', () => responses.length === 2);
    const [first, second] = responses;
    assert.ok(first !== undefined && second !== undefined);
    const head = readyHead(200, { 'content-type': 'text/plain' });
    sendReady(second, head, { text: 'two', bytes: 3 }, 'id-2');
    assert.equal(second.req.socket.timeout, 120_000);
    sendReady(first, head, { text: 'one', bytes: 3 }, 'id-1');
    await until('both answers', () => connection.received().endsWith('two'));
    assert.match(
      connection.received(),
      /x-request-id: id-1\r\n[\s\S]*one[\s\S]*x-request-id: id-2\r\n[\s\S]*two$/,
    );
  });
});
