import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { createBodyParser } from './body.ts';

const headers = { 'content-type': 'application/json' };

function read(parser: ReturnType<typeof createBodyParser>, sent: Record<string, string> = headers) {
  const payload = new PassThrough();
  const response = new EventEmitter();
  const result = Promise.withResolvers<unknown>();
  parser(
    { headers: sent, method: 'POST', response } as unknown as FastifyRequest,
    payload as unknown as IncomingMessage,
    (error, body) => (error === null ? result.resolve(body) : result.reject(error)),
  );
  return { payload, body: result.promise, answered: () => response.emit('close') };
}

const hasCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

describe('the body parser', () => {
  it('puts chunks together, also inside a character', async () => {
    const { payload, body } = read(createBodyParser());
    const bytes = Buffer.from('{"a":"é"}');
    payload.write(bytes.subarray(0, 7));
    payload.end(bytes.subarray(7));
    assert.deepEqual(await body, { a: 'é' });
  });

  it('turns a request away while others fill the room for bodies, and takes it once they are done', async () => {
    const parser = createBodyParser(100);
    const first = read(parser);
    first.payload.write(`"${'x'.repeat(79)}`);
    const second = read(parser);
    second.payload.write(`"${'x'.repeat(79)}`);
    await assert.rejects(second.body, hasCode('overloaded'));
    first.payload.end('"');
    assert.equal(await first.body, 'x'.repeat(79));
    first.answered();
    second.answered();
    const third = read(parser);
    third.payload.end(`"${'x'.repeat(79)}"`);
    assert.equal(await third.body, 'x'.repeat(79));
  });

  it('refuses a body that ends before its time, and gives its room back', async () => {
    const parser = createBodyParser(100);
    const first = read(parser);
    first.payload.write('x'.repeat(90));
    await new Promise((done) => setImmediate(done));
    first.payload.destroy();
    await assert.rejects(first.body, hasCode('malformed_request'));
    first.answered();
    const second = read(parser);
    second.payload.end(`"${'x'.repeat(79)}"`);
    assert.equal(await second.body, 'x'.repeat(79));
  });

  it('stops reading a body without a length at 16 MiB', async () => {
    const { payload, body } = read(createBodyParser());
    const chunk = Buffer.alloc(1_024 * 1_024, 0x20);
    for (let i = 0; i < 17; i++) payload.write(chunk);
    await assert.rejects(body, hasCode('body_too_large'));
  });
});
