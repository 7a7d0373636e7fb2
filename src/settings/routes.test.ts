import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startService } from '../../test/support/service.ts';

describe('GET /api/settings', () => {
  it('returns every member in the order of the contract for a session key, 200', async (t) => {
    const service = await startService({}, t);
    const { status, body } = await service.ask('/api/settings');
    assert.equal(status, 200);
    assert.equal(Object.keys(body).length, 28);
  });
});
