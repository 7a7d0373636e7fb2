import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOutput, headCharsMax, tailCharsMax } from './output.ts';

const esc = '\u001b';

function textOf(...pieces: readonly string[]): string {
  const output = createOutput();
  for (const piece of pieces) output.push(piece);
  return output.text();
}

/** Splits the same text at every position. */
function everyCut(text: string): string[] {
  return Array.from({ length: text.length + 1 }, (_, at) => textOf(text.slice(0, at), text.slice(at)));
}

describe('the output of a command', () => {
  it('has no colours, titles or cursor movements, wherever a piece ends', () => {
    const text = `a${esc}[1;31mred${esc}[0m b${esc}]0;a title\u0007c${esc}]8;;http://x${esc}\\link${esc}(B${esc}[2K${esc}=d\n`;
    for (const shown of everyCut(text)) assert.equal(shown, 'ared bclinkd\n');
  });

  it('keeps text after an escape that is never closed', () => {
    assert.equal(textOf(`a${esc}]0;${'x'.repeat(3_000)}`, 'b\n').at(-2), 'b');
    assert.match(textOf(`${esc}]never closed\nnext line\n`), /next line/);
  });

  it('shows the last state of an overwritten line, wherever a piece ends', () => {
    for (const shown of everyCut('start\r\n10 %\r50 %\r100 %\r\ndone\r'))
      assert.equal(shown, 'start\n100 %\ndone');
  });

  it('keeps head and tail of long output, and shows how much is left out', () => {
    const output = createOutput();
    const total = 200_000;
    for (let at = 0; at < total; at += 10) output.push(`${String(at).padStart(9, '0')}\n`);
    const text = output.text();
    const [head = '', tail = ''] = text.split(/\[… \d+ characters left out[^\]]*\]\n/);
    assert.match(head, /^000000000\n/);
    assert.match(tail, /\n000199990\n$/);
    const [, leftOut] = /\[… (\d+) characters/.exec(text) ?? [];
    assert.equal(Number(leftOut), total - headCharsMax - tailCharsMax);
    assert.equal(head.length - 1 + tail.length + Number(leftOut), total);
  });

  it('does not split a character', () => {
    for (const first of ['', 'a'])
      assert.ok(textOf(first, ...Array.from({ length: 100 }, () => '😀'.repeat(999))).isWellFormed());
  });

  it('limits a line that never ends', () => {
    const output = createOutput();
    for (let i = 0; i < 100; i += 1) output.push('x'.repeat(10_000));
    assert.ok(output.text().length < headCharsMax + tailCharsMax + 200);
  });

  it('reports that binary output is binary', () => {
    const bytes = Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7) % 256));
    assert.match(textOf(bytes.toString('utf8')), /^\[the output is binary \(\d+ characters\) and not shown/);
    assert.equal(textOf('plain text with one \0 in it\n'), 'plain text with one  in it\n');
  });

  it('returns what is new since the last read', () => {
    const output = createOutput();
    output.push('one\ntw');
    assert.equal(output.take(), 'one\ntw');
    output.push('o\n10 %');
    assert.equal(output.take(), 'o\n10 %');
    output.push('\r20 %');
    assert.equal(output.take(), '20 %');
    assert.equal(output.take(), '');
  });
});
