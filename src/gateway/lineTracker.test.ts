import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLineTracker } from './lineTracker.ts';

/** For each piece, whether it has data in it, and how long the last line is after it. */
function watch(pieces: readonly string[]): [boolean, number][] {
  const lines = createLineTracker();
  return pieces.map((piece) => [lines.push(Buffer.from(piece)), lines.bytes()]);
}

describe('the lines of a stream', () => {
  const cases: readonly [string, string[], [boolean, number][]][] = [
    [
      'comments and empty lines',
      [': hello\n\n', '\r\n', ':\n'],
      [
        [false, 0],
        [false, 0],
        [false, 0],
      ],
    ],
    [
      'a comment in pieces',
      [': he', 'data: no', '\n'],
      [
        [false, 4],
        [false, 12],
        [false, 0],
      ],
    ],
    ['data', ['data: {}\n\n'], [[true, 0]]],
    [
      'data in pieces',
      ['d', 'ata: ', 'x\n', '\n'],
      [
        [true, 1],
        [true, 6],
        [true, 0],
        [false, 0],
      ],
    ],
    [
      'data behind a comment',
      [': hello\ndata: x', '\n: hello\n'],
      [
        [true, 7],
        [true, 0],
      ],
    ],
    ['a name without data', ['event: ping\n\n'], [[false, 0]]],
  ];
  for (const [name, pieces, expected] of cases)
    it(`are known as what they are: ${name}`, () => {
      assert.deepEqual(watch(pieces), expected);
    });
});
