// Which host names are those of this machine.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isThisMachine } from './thisMachine.ts';

describe('the machine of the service', () => {
  it('is this one under the names of the loopback interface alone', () => {
    for (const name of ['localhost', '127.0.0.1', '127.0.1.1', '[::1]']) assert.ok(isThisMachine(name), name);
    for (const name of ['parley.example.com', '10.0.0.1', '127.example.com', 'a.localhost', '0.0.0.0'])
      assert.ok(!isThisMachine(name), name);
  });
});
