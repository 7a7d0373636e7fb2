import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { keepTail } from './tail.ts';

async function tailOf(bytesMax: number, ...pieces: readonly string[]): Promise<string> {
  return hiddenTailOf(bytesMax, undefined, ...pieces);
}

async function hiddenTailOf(
  bytesMax: number,
  hide: ((text: string) => string) | undefined,
  ...pieces: readonly string[]
): Promise<string> {
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  const tail = keepTail([stream], bytesMax, hide);
  await new Promise((resolve) => stream.once('end', resolve));
  return tail();
}

describe('the tail of the output of a program', () => {
  it('is the whole output if it fits', async () => {
    assert.equal(await tailOf(12, 'one two\n', 'more'), 'one two\nmore');
  });

  it('begins with a whole line if there is one, or else with a whole word', async () => {
    assert.equal(await tailOf(12, 'a secret\n', 'and more\n'), 'and more\n');
    assert.equal(await tailOf(12, 'one secret and more\n'), 'and more\n');
    assert.equal(await tailOf(12, 'äöüäöüäöü more'), 'more');
    assert.equal(await tailOf(12, 'x'.repeat(40)), '');
  });

  it('is the last bytes if there are no lines or words, and shows no part of a secret', async () => {
    const secret = 'hunter2-hunter2';
    const hide = (text: string) => text.replaceAll(secret, '***');
    assert.equal(await hiddenTailOf(12, hide, 'x'.repeat(30_000), 'x'.repeat(40)), 'x'.repeat(12));
    assert.equal(await hiddenTailOf(12, hide, `${'x'.repeat(40)}${secret}yyyy`), '***yyyy');
    for (let after = 0; after < 40; after++) {
      const shown = await hiddenTailOf(12, hide, `${'x'.repeat(9_000)}${secret}${'y'.repeat(after)}`);
      assert.match(shown, /^x*(\*\*\*)?y*$/, String(after));
    }
  });
});
