// Error messages for people, and their exit codes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../client/parley.ts';
import { describeFault } from './faults.ts';

describe('describeFault', () => {
  it('names each of several invalid fields on a line of its own', () => {
    const details = ['a', 'b', 'c'].map((path, i) => ({ path, message: `must be ${i}\u001b[2J` }));
    const { message, exitCode } = describeFault(new ParleyError('invalid', 'a must be 0.', { details }));
    assert.deepEqual([message, exitCode], ['a must be 0.\n  b must be 1␛[2J\n  c must be 2␛[2J', 2]);
  });

  it('shows the cause of a network error, however deep it is', () => {
    const cause = new TypeError('fetch failed', {
      cause: Object.assign(new Error('no'), { code: 'CERT_HAS_EXPIRED' }),
    });
    const { message, exitCode } = describeFault(new ParleyError('network', 'It broke.', { cause }));
    assert.match(message, /^It broke\. \(CERT_HAS_EXPIRED\) It should be at http.*PARLEY_URL\.$/);
    assert.equal(exitCode, 4);
  });
});
