import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { Socket } from 'socket.io';
import { Batch } from '../events/hub.ts';
import { conversationReceiver } from './socketReceiver.ts';

const message = (id: number, content: string) => ({
  cursor: String(id),
  data: JSON.stringify({ id, action: 'message', args: { content } }),
});

describe('a socket whose client reads slowly', () => {
  it('gets no more after 64 KiB until they were sent', () => {
    const sent: (() => void)[] = [];
    const conn = { write: (_packet: string, _options: object, done: () => void) => sent.push(done) };
    const socket = Object.assign(new EventEmitter(), { conn }) as unknown as Socket;
    const receiver = conversationReceiver({ socket, replayBelow: 0 });
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
});
