import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { createPeer, messageBytesMax, RpcError } from './peer.ts';

/** A peer whose other side the test writes and reads. */
function open(onRequest: () => Promise<unknown> = async () => ({}), onHeard = () => {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const heard: string[] = [];
  let garbage = 0;
  const peer = createPeer({
    input,
    output,
    onNotification: (method) => {
      heard.push(method);
      onHeard();
    },
    onRequest,
    onGarbage: () => (garbage += 1),
  });
  let sent = '';
  output.setEncoding('utf8').on('data', (piece: string) => (sent += piece));
  return {
    peer,
    heard,
    say: (line: unknown) => input.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`),
    garbage: () => garbage,
    sent: () =>
      sent
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
  };
}

describe('a peer', () => {
  it('ignores requests with invalid ids, and continues', async () => {
    const { say, sent, heard, garbage } = open();
    for (const id of [{ toString: 1 }, [[]], true, 'x'.repeat(10_000)]) say({ id, method: 'odd' });
    say({ id: 'a', method: 'good' });
    say({ method: 'after' });
    await until('the good one is answered', async () => sent().length === 1);
    assert.deepEqual(sent(), [{ jsonrpc: '2.0', id: 'a', result: {} }]);
    assert.deepEqual([heard, garbage()], [['after'], 1]);
  });

  it('rejects a request after an error response of any form', async () => {
    const { peer, say } = open();
    const errors = [{ code: { valueOf: 1, toString: 1 }, message: { toString: 1 } }, 1, 'x', [[]], true];
    for (const [id, error] of errors.entries()) {
      const asked = peer.request('m', {});
      say({ id, error });
      await assert.rejects(asked, (thrown) => thrown instanceof RpcError && thrown.message === 'no message');
    }
  });

  it('does not delay an agent for time in which the process itself was blocked', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const standStill = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    const { say, heard } = open(undefined, standStill);
    say({ method: 'first' });
    say({ method: 'second' });
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    assert.deepEqual(heard, ['first', 'second']);
  });

  it('ends if pending requests are too large together', async () => {
    const { peer, say } = open(() => new Promise(() => {}));
    const params = { text: 'x'.repeat(messageBytesMax - 1_000) };
    for (const id of [1, 2, 3]) say({ id, method: 'ask', params });
    const end = await peer.done;
    assert.deepEqual([end?.code, end?.message], ['protocol', 'The agent sent too many requests at once.']);
  });

  it('ends if a message has too many values, before it is parsed', async () => {
    const { peer, say } = open();
    say(`{"method":"m","params":[${'{},'.repeat(1_000_000)}{}]}`);
    const end = await peer.done;
    assert.equal(end?.code, 'protocol');
    assert.match(end?.message ?? '', /at most 200000 values/);
  });
});
