import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DayMissing, newKey, toRequest } from './newKey.ts';

const now = Date.parse('2026-01-31T12:00:00.000Z');

describe('a key that is to be made', () => {
  it('asks for no scope that its maker does not hold', () => {
    const fields = { ...newKey, name: 'laptop' };
    assert.deepEqual(toRequest(fields, ['settings:read', 'keys:manage'], now), {
      name: 'laptop',
      kind: 'session',
      expires_at: null,
      scopes: ['settings:read'],
    });
  });

  it('asks for no scopes where it is a token, and ends when it is said to', () => {
    const fields = { ...newKey, name: 'board', kind: 'bearer', expiry: '7' } as const;
    assert.deepEqual(toRequest(fields, ['settings:read'], now), {
      name: 'board',
      kind: 'bearer',
      expires_at: '2026-02-07T12:00:00.000Z',
    });
  });

  it('is not made where a day is to be chosen and is not', () => {
    assert.throws(() => toRequest({ ...newKey, expiry: 'date' }, [], now), DayMissing);
  });
});
