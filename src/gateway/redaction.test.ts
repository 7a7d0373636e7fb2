import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { modelKey, withProvider } from '../../test/support/gateway.ts';
import { createRedaction } from './redaction.ts';

const quoted = `data: {"error":{"message":"Incorrect API key provided: ${modelKey}."}}\n\n`;
const redacted = quoted.replace(modelKey, '…');

function passInPieces(key: string, pieces: readonly string[]): string[] {
  const stream = createRedaction(key, 'answer').stream();
  const sent = pieces.map((piece) => stream.push(Buffer.from(piece)).toString('latin1'));
  return [...sent, stream.end().toString('latin1')].map((text) => Buffer.from(text, 'latin1').toString());
}

describe('an answer that quotes the key', () => {
  it('is forwarded without it, wherever it is split', () => {
    for (let at = 0; at <= quoted.length; at++)
      assert.equal(passInPieces(modelKey, [quoted.slice(0, at), quoted.slice(at)]).join(''), redacted);
  });

  it('is forwarded without it in single bytes, and however often it occurs', () => {
    assert.equal(passInPieces(modelKey, [...quoted.repeat(3)]).join(''), redacted.repeat(3));
  });

  it('is forwarded without it if a part of it comes before', () => {
    const key = 'abababac';
    assert.equal(passInPieces(key, ['xab', 'ababab', 'ac!']).join(''), 'xab…!');
  });

  it('is forwarded at once if its end is not the start of the key, and unchanged if it only looked so', () => {
    assert.deepEqual(passInPieces(modelKey, ['a sk', 'y is blue\n', 'sk-']), [
      'a ',
      'sky is blue\n',
      '',
      'sk-',
    ]);
  });

  for (const [name, form] of [
    ['base64', Buffer.from('sk-a/b"c+0123').toString('base64').slice(0, 16)],
    ['percent signs', encodeURIComponent('sk-a/b"c+0123')],
    ['JSON', 'sk-a/b\\"c+0123'],
  ] as const)
    it(`passes without it in ${name}`, () => {
      assert.equal(createRedaction('sk-a/b"c+0123', 'error').text(`(${form})`), '(…)');
    });

  it('is unchanged if the key is too short to be one, except in error texts', () => {
    assert.deepEqual(passInPieces('ollama', ['ollama']), ['ollama', '']);
    assert.equal(createRedaction('sk-1', 'error').text('not sk-1'), 'not …');
  });

  for (const type of ['text/event-stream', 'application/json'])
    it(`reaches the agent without it, as ${type}, 200`, async (t) => {
      const { ask, notices } = await withProvider(t, (_, response) => {
        response.writeHead(200, { 'content-type': type, 'x-request-id': `for ${modelKey}` });
        response.write(quoted.slice(0, 60), () => setImmediate(() => response.end(quoted.slice(60))));
      });
      const answer = await ask({}, { stream: true });
      assert.deepEqual([answer.status, await answer.text()], [200, redacted]);
      assert.ok(!JSON.stringify([...answer.headers, notices]).includes(modelKey));
    });
});
