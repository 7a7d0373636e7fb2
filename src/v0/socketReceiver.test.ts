import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { Socket } from 'socket.io';
import { Batch } from '../events/receiver.ts';
import { conversationReceiver, createUnsentChars } from './socketReceiver.ts';

const message = (id: number, content: string) => ({
  cursor: String(id),
  data: JSON.stringify({ id, action: 'message', args: { content } }),
});

/** A socket that sends only when the test says so. */
function slowSocket() {
  const sent: (() => void)[] = [];
  const conn = { write: (_packet: string, _options: object, done: () => void) => sent.push(done) };
  const emitter = new EventEmitter();
  const socket = Object.assign(emitter, {
    conn,
    connected: true,
    disconnect: () => {
      socket.connected = false;
      emitter.emit('disconnect');
    },
  });
  return { socket: socket as unknown as Socket, sent };
}

describe('a socket whose client reads slowly', () => {
  it('gets no more after 64 KiB until they were sent', () => {
    const { socket, sent } = slowSocket();
    const receiver = conversationReceiver({ socket, unsent: createUnsentChars(), replayBelow: 0 });
    let drained = 0;
    receiver.onDrain(() => drained++);
    assert.equal(receiver.receive(new Batch([message(0, 'short')])), true);
    assert.equal(receiver.receive(new Batch([message(1, 'x'.repeat(70_000))])), false);
    sent[0]?.();
    assert.equal(drained, 0);
    sent[1]?.();
    assert.equal(drained, 1);
    assert.equal(receiver.receive(new Batch([message(2, 'short')])), true);
  });

  it('is closed if all sockets together hold too much, but not if it holds little itself', () => {
    const unsent = createUnsentChars(300_000);
    const large = () => new Batch([message(0, 'x'.repeat(100_000))]);
    const greedy = [1, 2, 3].map(() => slowSocket());
    const modest = slowSocket();
    for (const { socket } of greedy)
      conversationReceiver({ socket, unsent, replayBelow: 0 }).receive(large());
    conversationReceiver({ socket: modest.socket, unsent, replayBelow: 0 }).receive(
      new Batch([message(0, 'short')]),
    );
    assert.deepEqual(
      [...greedy, modest].map(({ socket }) => socket.connected),
      [true, true, false, true],
    );
    for (const { socket } of [...greedy, modest]) socket.disconnect(true);
    assert.equal(unsent.total(), 0);
  });
});
