import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPauses, waitMsOf } from './rateLimits.ts';

const now = Date.parse('2026-01-31T12:00:00Z');
const inTenMinutes = String(now / 1_000 + 600);
const waitFor = (headers: Record<string, string>) => waitMsOf(new Headers(headers), now);

describe('the time of a rate limit', () => {
  it('is that of Retry-After, in seconds or as a date, or of the reset', () => {
    assert.equal(waitFor({ 'retry-after': '5' }), 5_000);
    assert.equal(waitFor({ 'retry-after': 'Sat, 31 Jan 2026 12:00:09 GMT' }), 9_000);
    assert.equal(waitFor({ 'x-ratelimit-reset': inTenMinutes }), 600_000);
    assert.equal(waitFor({ 'ratelimit-reset': inTenMinutes }), 600_000);
    assert.equal(waitFor({ 'retry-after': '5', 'x-ratelimit-reset': inTenMinutes }), 5_000);
  });

  it('is between a second and an hour, and a minute if it is not given or makes no sense', () => {
    assert.equal(waitFor({ 'retry-after': '0' }), 1_000);
    assert.equal(waitFor({ 'x-ratelimit-reset': '1' }), 1_000);
    assert.equal(waitFor({ 'retry-after': '86400' }), 3_600_000);
    assert.equal(waitFor({}), 60_000);
    assert.equal(waitFor({ 'retry-after': 'soon', 'x-ratelimit-reset': 'later' }), 60_000);
  });
});

describe('a pause', () => {
  it('holds for its token alone, until its time is over', () => {
    let steady = 0;
    const pauses = createPauses({ steady: () => steady });
    pauses.pause('a', 1_000);
    assert.deepEqual([pauses.leftMs('a'), pauses.leftMs('b')], [1_000, 0]);
    steady = 999;
    assert.equal(pauses.leftMs('a'), 1);
    steady = 1_000;
    assert.equal(pauses.leftMs('a'), 0);
  });
});
