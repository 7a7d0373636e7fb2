import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { termPattern, termsOf } from './marks.ts';

describe('the words of a search', () => {
  it('are those that the service looks for', () => {
    assert.deepEqual(termsOf('parser "empty line"  pars* src/a.ts'), [
      'parser',
      'empty line',
      'pars',
      'src/a.ts',
    ]);
    for (const query of ['', ' ', '"', '***', '- "" .']) assert.deepEqual(termsOf(query), [], query);
  });

  it('are found in any case, and mean no patterns', () => {
    const found = (query: string, text: string) => text.match(termPattern(termsOf(query)) ?? /$^/);
    assert.deepEqual(found('a.b (c', 'A.B axb (C'), ['A.B', '(C']);
    assert.deepEqual(found('"empty line"', 'An Empty\n line'), ['Empty\n line']);
    assert.equal(termPattern([]), undefined);
  });
});
