import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFrameReader } from './frames.ts';

const text =
  'retry: 1000\nid: 4\n\nid: 5\ndata: {"a":"é"}\n\n: still here\n\nevent: reset\ndata: one\ndata:two\n\nid: 6\nda';

describe('the frames of a stream', () => {
  const expected = [
    { id: '4', event: 'message', data: '', retryMs: 1_000 },
    { id: '5', event: 'message', data: '{"a":"é"}', retryMs: undefined },
    { id: undefined, event: 'reset', data: 'one\ntwo', retryMs: undefined },
  ];

  it('are the same however the text is split, and an unfinished one is not returned', () => {
    for (let size = 1; size <= text.length; size++) {
      const read = createFrameReader();
      const frames = [];
      for (let at = 0; at < text.length; at += size) frames.push(...read(text.slice(at, at + size)));
      assert.deepEqual(frames, expected, `in pieces of ${size}`);
    }
  });

  it('may have CRLF line ends', () => {
    assert.deepEqual(createFrameReader()(text.replaceAll('\n', '\r\n')), expected);
  });

  it('are refused if one does not end', () => {
    const read = createFrameReader();
    const piece = 'x'.repeat(16 * 1_024 * 1_024);
    assert.throws(
      () => {
        for (let i = 0; i < 6; i++) read(piece);
      },
      { name: 'ParleyError', code: 'unexpected' },
    );
    assert.throws(() => createFrameReader()('data:\n'.repeat(20_000)), { code: 'unexpected' });
  });
});
