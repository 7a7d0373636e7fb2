import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadModels } from '../../models/catalogue.ts';
import { mib } from '../../validation/schema.ts';
import { gemini } from '../protocols/gemini.ts';
import { openaiChat } from '../protocols/openaiChat.ts';
import { openaiResponses } from '../protocols/openaiResponses.ts';
import { answerTokensMax, type ModelProtocol } from '../protocols/protocol.ts';
import { findPrice } from './prices.ts';
import { createUsageReader } from './usageReader.ts';

const told = 'data: {"word":"größer","usage":{"prompt_tokens":7,"completion_tokens":9}}\n\n';

function read(isStream: boolean, pieces: readonly Buffer[], protocol: ModelProtocol = openaiChat) {
  const reader = createUsageReader({ protocol, isStream, requestBytes: 400 });
  for (const piece of pieces) reader.push(piece);
  const { input, output } = reader.end(true);
  return [input, output];
}

const says = (tokens: string) =>
  read(false, [Buffer.from(`{"usage":{"prompt_tokens":${tokens},"completion_tokens":${tokens}}}`)]);

describe('what a provider says of its tokens', () => {
  for (const tokens of ['1e12', '9007199254740993', '1e300', '1e400'])
    it(`counts as the most that an answer can take where it says ${tokens}`, () => {
      assert.deepEqual(says(tokens), [answerTokensMax, answerTokensMax]);
    });

  for (const tokens of ['-1', '"7"', 'null', '0.2'])
    it(`counts as not said where it is ${tokens}`, () => {
      assert.equal(says(tokens)[0], 100);
    });

  it('costs no more than an answer may', () => {
    const most = { input: 1e8, output: 1e8, cacheRead: 1e8, cacheWrite: 1e8 };
    assert.ok(findPrice(loadModels(), 'nobody/unknown', false).costOf(most) <= 1e13);
  });
});

const inBytes = (text: string) => Array.from(Buffer.from(text), (byte) => Buffer.of(byte));

describe('the usage reader', () => {
  it('returns the same usage however the answer is split', () => {
    const stream = `: hello\ndata: {}\n\n${told}data: [DONE]`;
    assert.deepEqual(read(true, [Buffer.from(stream)]), [7, 9]);
    assert.deepEqual(read(true, inBytes(stream)), [7, 9]);
    const whole = told.slice('data:'.length);
    assert.deepEqual(read(false, [Buffer.from(whole)]), [7, 9]);
    assert.deepEqual(read(false, inBytes(whole)), [7, 9]);
    assert.deepEqual(read(true, inBytes('data: {}\n\ndata: {}')), [100, 2]);
  });

  const words = 'y'.repeat(mib);
  const ends: readonly [string, ModelProtocol, object][] = [
    ['openai-chat', openaiChat, { choices: words, usage: { prompt_tokens: 7, completion_tokens: 9 } }],
    [
      'openai-responses',
      openaiResponses,
      {
        response: {
          output: `${words} "usage": {}`,
          usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 3 }, output_tokens: 9 },
          metadata: { a: '{' },
        },
      },
    ],
    [
      'gemini',
      gemini,
      {
        candidates: words,
        usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 9 },
        modelVersion: '1',
      },
    ],
  ];
  for (const [name, protocol, part] of ends)
    it(`finds it at the end of what is long, in ${name}, and parses nothing long for it`, (t) => {
      let parsed = 0;
      const { parse } = JSON;
      t.mock.method(JSON, 'parse', (text: string) => {
        parsed = Math.max(parsed, text.length);
        return parse(text);
      });
      const whole = Buffer.from(JSON.stringify(part));
      const inPieces = (text: Buffer) =>
        Array.from({ length: Math.ceil(text.length / 50_000) }, (_, i) =>
          text.subarray(50_000 * i, 50_000 * (i + 1)),
        );
      const line = Buffer.concat([Buffer.from('data: '), whole, Buffer.from('\n\n')]);
      assert.deepEqual(read(true, inPieces(line), protocol), [7, 9]);
      assert.deepEqual(read(false, inPieces(whole), protocol), [7, 9]);
      assert.ok(parsed > 0 && parsed <= 65_536, String(parsed));
    });

  it('skips a line that is too long, and reads the next', () => {
    const long = Array.from({ length: 17 }, () => Buffer.alloc(mib / 16, 'x'));
    assert.deepEqual(read(true, [...long, Buffer.from(`\n${told}`)]), [7, 9]);
    assert.deepEqual(read(true, [...long, Buffer.from(told)]), [100, 0]);
  });

  it('reads each byte of a line once, however many pieces it comes in', (t) => {
    let looked = 0;
    const { split } = String.prototype;
    t.mock.method(String.prototype, 'split', function (this: string, ...args: Parameters<typeof split>) {
      looked += this.length;
      return split.apply(this, args);
    });
    const pieces = Array.from({ length: 2_000 }, () => Buffer.alloc(16, 'x'));
    read(true, [...pieces, Buffer.from('\n')]);
    assert.ok(looked <= 2 * 16 * 2_000, String(looked));
  });
});
