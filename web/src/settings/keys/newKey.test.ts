import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DayMissing, newKey, toRequest } from './newKey.ts';

const now = Date.parse('2026-01-31T12:00:00.000Z');

describe('the request for a new key', () => {
  it('has no scope that the user cannot grant', () => {
    const fields = { ...newKey, name: 'laptop' };
    assert.deepEqual(toRequest(fields, ['settings:read', 'keys:manage'], now), {
      name: 'laptop',
      kind: 'session',
      expires_at: null,
      scopes: ['settings:read'],
    });
  });

  it('has no scopes for a token, and the chosen expiry', () => {
    const fields = { ...newKey, name: 'board', kind: 'bearer', expiry: '7' } as const;
    assert.deepEqual(toRequest(fields, ['settings:read'], now), {
      name: 'board',
      kind: 'bearer',
      expires_at: '2026-02-07T12:00:00.000Z',
    });
  });

  it('throws if the expiry day is missing', () => {
    assert.throws(() => toRequest({ ...newKey, expiry: 'date' }, [], now), DayMissing);
  });
});
