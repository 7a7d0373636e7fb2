// What people are told of a fault, and which exit code it comes to.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../client/parley.ts';
import { commands } from '../commands.ts';
import { describeFault } from './faults.ts';
import { suggest } from './suggestion.ts';

describe('a fault', () => {
  it('of several places names each on a line of its own', () => {
    const details = ['a', 'b', 'c'].map((path, i) => ({ path, message: `must be ${i}\u001b[2J` }));
    const { message, exitCode } = describeFault(new ParleyError('invalid', 'a must be 0.', { details }));
    assert.deepEqual([message, exitCode], ['a must be 0.\n  b must be 1␛[2J\n  c must be 2␛[2J', 2]);
  });

  it('of the network tells its cause, however deep it is', () => {
    const cause = new TypeError('fetch failed', {
      cause: Object.assign(new Error('no'), { code: 'CERT_HAS_EXPIRED' }),
    });
    const { message, exitCode } = describeFault(new ParleyError('network', 'It broke.', { cause }));
    assert.match(message, /^It broke\. \(CERT_HAS_EXPIRED\) It should be at http.*PARLEY_URL\.$/);
    assert.equal(exitCode, 4);
  });
});

describe('a command that is not there', () => {
  it('is answered with the one that was meant, where one is near', () => {
    const names = commands.map(({ name }) => name);
    const cases: [string, string | undefined][] = [
      ['nwe', 'new'],
      ['lst', 'list'],
      ['Dotcor', 'doctor'],
      ['conf', 'confirm'],
      ['dance', undefined],
      ['x', undefined],
      ['', undefined],
    ];
    for (const [typed, meant] of cases) assert.equal(suggest(typed, names), meant, typed);
  });
});
