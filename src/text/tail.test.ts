import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { keepTail } from './tail.ts';

async function tailOf(bytesMax: number, ...pieces: readonly string[]): Promise<string> {
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  const tail = keepTail([stream], bytesMax);
  await new Promise((resolve) => stream.once('end', resolve));
  return tail();
}

describe('the tail of what a program wrote', () => {
  it('is all of it where it fits', async () => {
    assert.equal(await tailOf(12, 'one two\n', 'more'), 'one two\nmore');
  });

  it('begins with a whole line where there is one, or else with a whole word', async () => {
    assert.equal(await tailOf(12, 'a secret\n', 'and more\n'), 'and more\n');
    assert.equal(await tailOf(12, 'one secret and more\n'), 'and more\n');
    assert.equal(await tailOf(12, 'äöüäöüäöü more'), 'more');
    assert.equal(await tailOf(12, 'x'.repeat(40)), '');
  });
});
