import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Stream } from '@agentclientprotocol/sdk';
import { mib } from '../validation/schema.ts';
import { guardStream, type RequestBytes, requestsMax } from './guardedStream.ts';

type Message = Record<string, unknown>;

/** A guarded connection: the ends of the client and of the service. */
function open(bytes = 0, total: RequestBytes = { used: 0 }) {
  const [toService, toClient] = [
    new TransformStream<Message, Message>(),
    new TransformStream<Message, Message>(),
  ];
  const stream = { readable: toService.readable, writable: toClient.writable } as unknown as Stream;
  const guarded = guardStream(stream, { bytesOf: () => bytes, total });
  const handled = guarded.readable.getReader();
  const answers = toClient.readable.getReader();
  const client = toService.writable.getWriter();
  const service = guarded.writable.getWriter();
  return {
    total,
    send: (message: Message) => void client.write({ jsonrpc: '2.0', ...message }),
    request: (id: unknown) => void client.write({ jsonrpc: '2.0', id, method: 'x' }),
    handled: async () => (await handled.read()).value as unknown as Message,
    answer: async () => (await answers.read()).value as Message,
    reply: (message: Message) => service.write(message as never),
    close: () => client.close(),
    isOver: async () => (await handled.read()).done,
  };
}

const reason = ({ error }: Message) => (error as { message: string }).message;

describe('guardStream', { timeout: 20_000 }, () => {
  it('refuses requests while too many are in progress', async () => {
    const { request, handled, answer, reply } = open();
    for (let id = 0; id < requestsMax; id++) {
      request(id);
      assert.equal((await handled())['id'], id);
    }
    request('more');
    const next = handled();
    const refused = await answer();
    assert.equal(refused['id'], 'more');
    assert.match(reason(refused), /^Too many requests/);
    const replied = reply({ jsonrpc: '2.0', id: 7, result: {} });
    assert.equal((await answer())['id'], 7);
    await replied;
    request('more');
    assert.equal((await next)['id'], 'more');
  });

  it('refuses requests that are too large together, of one client and of all', async () => {
    const one = open(12 * mib);
    for (const id of [1, 2, 3]) one.request(id);
    for (const id of [1, 2]) assert.equal((await one.handled())['id'], id);
    const rest = one.handled();
    assert.match(reason(await one.answer()), /too large together/);
    const full: RequestBytes = { used: 250 * mib };
    const other = open(12 * mib, full);
    other.request(1);
    const nothing = other.handled();
    assert.match(reason(await other.answer()), /too large together/);
    one.close();
    other.close();
    await Promise.all([rest, nothing]);
    assert.deepEqual([one.total.used, full.used], [0, 250 * mib], 'a client that is gone takes nothing');
  });

  it('refuses a second request with the id of one that is in progress', async () => {
    const { request, handled, answer, reply } = open();
    request(1);
    assert.equal((await handled())['id'], 1);
    request(1);
    const next = handled();
    assert.match(reason(await answer()), /Another request with this id/);
    const replied = reply({ jsonrpc: '2.0', id: 1, result: {} });
    await answer();
    await replied;
    request(1);
    assert.equal((await next)['id'], 1);
  });

  it('lets the client answer only what it was asked, and once', async () => {
    const { send, handled, answer, reply } = open();
    void reply({ jsonrpc: '2.0', id: 5, method: 'session/request_permission' });
    assert.equal((await answer())['id'], 5);
    for (const id of [4, 5, 5, '5']) send({ id, result: { from: id } });
    send({ method: 'last' });
    assert.deepEqual([(await handled())['id'], (await handled())['method']], [5, 'last']);
  });

  it('continues to read when the client has read its refusals', async () => {
    const { request, handled, answer } = open();
    request(1);
    await handled();
    for (let i = 0; i < 10; i++) request(1);
    const next = handled();
    request(2);
    for (let i = 0; i < 10; i++) assert.match(reason(await answer()), /Another request/);
    assert.equal((await next)['id'], 2);
  });

  it('ends with its client', async () => {
    const { close, isOver } = open();
    close();
    assert.equal(await isOver(), true);
  });
});
