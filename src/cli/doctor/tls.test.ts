// When a certificate should be renewed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRenewalDue } from './tls.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const due = (lifetimeMs: number, leftMs: number) =>
  isRenewalDue({ validFrom: 0, validTo: lifetimeMs }, lifetimeMs - leftMs);

describe('the renewal of a certificate', () => {
  it('is due by the share of its lifetime that is left, and two weeks before the end of a long one', () => {
    // Caddy issues its own for 12 hours, and renews them when 4 are left.
    assert.deepEqual(
      [12, 4, 3, 1].map((left) => due(12 * hourMs, left * hourMs)),
      [false, false, false, true],
    );
    // Let's Encrypt issues them for 90 days, and they are renewed when 30 are left.
    assert.deepEqual(
      [90, 30, 16, 13].map((left) => due(90 * dayMs, left * dayMs)),
      [false, false, false, true],
    );
    assert.deepEqual(
      [60, 15, 13].map((left) => due(365 * dayMs, left * dayMs)),
      [false, false, true],
    );
  });
});
