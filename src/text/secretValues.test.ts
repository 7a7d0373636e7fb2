import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createMaskedStream, createSecretValues } from './secretValues.ts';

const mask = '**********';

/** Masks the pieces as they arrive, and holds back what is not settled. */
function maskPieces(values: ReturnType<typeof createSecretValues>, pieces: readonly string[]) {
  const stream = createMaskedStream(() => values, mask);
  let shown = '';
  const steps = pieces.map((piece) => {
    shown += stream.add(piece);
    return shown;
  });
  return { steps, whole: shown + stream.end() };
}

// Few letters, so that values overlap each other and themselves.
const letters = fc.constantFrom('a', 'b', 'c', '\n', '😀');
const secret = fc.string({ unit: letters, minLength: 2, maxLength: 6 });
const filler = fc.string({ unit: letters, maxLength: 8 });

describe('secret values', () => {
  it('are masked in text that arrives in any pieces as they are in the whole text', () => {
    const texts = fc.array(secret, { maxLength: 4 }).chain((secrets) =>
      fc.record({
        secrets: fc.constant(secrets),
        parts: fc.array(secrets.length === 0 ? filler : fc.oneof(filler, fc.constantFrom(...secrets)), {
          maxLength: 8,
        }),
        sizes: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 60 }),
      }),
    );
    fc.assert(
      fc.property(texts, ({ secrets, parts, sizes }) => {
        const values = createSecretValues(secrets, mask);
        const text = parts.join('');
        const pieces: string[] = [];
        let from = 0;
        for (const size of sizes) {
          pieces.push(text.slice(from, from + size));
          from += size;
        }
        pieces.push(text.slice(from));
        const { steps, whole } = maskPieces(values, pieces);
        assert.equal(whole, values.mask(text));
        for (const step of steps) {
          assert.ok(whole.startsWith(step));
          assert.ok(step.isWellFormed());
          for (const one of secrets) assert.ok(!step.includes(one));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('are masked in pieces as in the whole text if they are cut off', () => {
    const few = fc.constantFrom('a', 'b');
    const texts = fc.array(fc.string({ unit: few, minLength: 13, maxLength: 20 }), {
      minLength: 1,
      maxLength: 2,
    });
    const cut = texts.chain((secrets) =>
      fc.record({
        secrets: fc.constant(secrets),
        parts: fc.array(
          fc.oneof(
            fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 4 }),
            fc.tuple(fc.constantFrom(...secrets), fc.nat(20)).map(([one, length]) => one.slice(0, length)),
          ),
          { maxLength: 6 },
        ),
        sizes: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }),
      }),
    );
    fc.assert(
      fc.property(cut, ({ secrets, parts, sizes }) => {
        const values = createSecretValues(secrets, mask);
        const text = parts.join('');
        const pieces: string[] = [];
        let from = 0;
        for (const size of sizes) {
          pieces.push(text.slice(from, from + size));
          from += size;
        }
        pieces.push(text.slice(from));
        assert.equal(maskPieces(values, pieces).whole, values.mask(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are masked where a program has cut them, unless little of them is left', () => {
    const value = 'supersecretvalue-ABCDEFGH-0123456789';
    const values = createSecretValues([value], mask);
    for (let length = 1; length <= value.length; length++) {
      const isLong = length >= value.length / 2;
      assert.equal(
        values.mask(`a ${value.slice(0, length)}… b`),
        isLong ? `a ${mask}… b` : `a ${value.slice(0, length)}… b`,
      );
      const end = value.slice(-length);
      assert.equal(values.maskCut(`a …${end} b`), isLong ? `a …${mask} b` : `a …${end} b`);
    }
    assert.equal(
      values.maskCut(`${value}${value.slice(0, 20)} ${value.slice(-20)}`),
      `${mask}${mask} ${mask}`,
    );
    // Keys of one provider begin alike.
    assert.equal(
      createSecretValues(['sk-ant-api03-abcdefghijklmnopqrst'], mask).mask('sk-ant-api03-'),
      'sk-ant-api03-',
    );
  });

  it('are masked as a whole where they overlap each other or themselves', () => {
    const shown = (secrets: string[], text: string) => createSecretValues(secrets, mask).maskCut(text);
    for (const secrets of [
      ['abcdef', 'defghi'],
      ['defghi', 'abcdef'],
    ])
      assert.equal(shown(secrets, '<abcdefghi>'), `<${mask}>`);
    assert.equal(shown(['abcdef', 'bcd'], '<abcdef>bcd>'), `<${mask}>${mask}>`);
    assert.equal(shown(['abab'], '<ababab>'), `<${mask}>`);
    // Values that only touch each other are two.
    assert.equal(shown(['abcd', 'efgh'], '<abcdefgh>'), `<${mask}${mask}>`);
    const [long, other] = ['first-secret-0123456789-shared', 'shared-second-secret-abcdefghij'];
    assert.equal(shown([long, other], `x ${long}-second-secret-ab… y`), `x ${mask}… y`);
  });

  it('leave nothing of themselves, whatever they overlap', () => {
    const cases = fc.record({
      secrets: fc.array(secret, { minLength: 1, maxLength: 4 }),
      text: fc.string({ unit: letters, maxLength: 40 }),
    });
    fc.assert(
      fc.property(cases, ({ secrets, text }) => {
        const isHidden = Array.from({ length: text.length }, () => false);
        for (const one of secrets)
          for (let at = text.indexOf(one); at >= 0; at = text.indexOf(one, at + 1))
            isHidden.fill(true, at, at + one.length);
        const visible = [...isHidden.keys()].filter((i) => !isHidden[i]).map((i) => text[i]);
        const shown = createSecretValues(secrets, mask).mask(text);
        assert.equal(shown.replaceAll(mask, ''), visible.join(''));
      }),
      { numRuns: 2_000 },
    );
  });

  it('hold back nothing but what may begin one', () => {
    const values = createSecretValues(['secret', 'rets'], mask);
    assert.equal(values.settledLength('no'), 2);
    assert.equal(values.settledLength('a sec'), 2);
    assert.equal(values.settledLength('a secx'), 6);
    assert.equal(values.settledLength('a secret!'), 9);
    // The end of the first value may begin the second, which is decided by what follows.
    assert.equal(values.settledLength('a secret'), 2);
    assert.equal(values.settledLength(`a ${'😀'[0]}`), 2);
  });

  it('hold back a bounded amount of text in which they overlap without end', () => {
    const stream = createMaskedStream(() => createSecretValues(['aaaa'], mask), mask);
    const shown = Array.from({ length: 1_000 }, () => stream.add('a'.repeat(1_000))).join('');
    assert.ok(shown.length > mask.length);
    assert.ok(!shown.includes('aaaa'));
  });

  it('are found at their start, also if they are long and repeat themselves', () => {
    const value = `${'a'.repeat(60_000)}b`;
    const values = createSecretValues([value], mask);
    assert.equal(values.settledLength(`x${'a'.repeat(59_999)}`), 1);
    // A beginning of the value that is cut off lies across every position.
    assert.equal(values.settledLength(`${'a'.repeat(100_000)}`), 0);
    assert.equal(values.settledLength(`${'a'.repeat(59_000)}cc`), 59_002);
  });
});
