import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { periodsAt } from './period.ts';

const show = (time: string) => {
  const { day, month } = periodsAt(Date.parse(time));
  return [day.startsAt, day.endsAt, month.startsAt, month.endsAt].map((ms) =>
    new Date(ms).toISOString().slice(0, 10),
  );
};

describe('the day and the month of a budget', () => {
  it('begin at midnight in UTC', () => {
    assert.deepEqual(show('2026-11-16T23:59:59.999Z'), [
      '2026-11-16',
      '2026-11-17',
      '2026-11-01',
      '2026-12-01',
    ]);
    assert.deepEqual(show('2026-11-17T00:00:00.000Z'), [
      '2026-11-17',
      '2026-11-18',
      '2026-11-01',
      '2026-12-01',
    ]);
    assert.deepEqual(show('2026-12-31T23:59:59.999Z'), [
      '2026-12-31',
      '2027-01-01',
      '2026-12-01',
      '2027-01-01',
    ]);
    assert.deepEqual(show('2028-02-29T12:00:00.000Z'), [
      '2028-02-29',
      '2028-03-01',
      '2028-02-01',
      '2028-03-01',
    ]);
  });

  it('are whole days since 1970', () => {
    assert.equal(periodsAt(Date.parse('1970-01-02T05:00:00Z')).day.firstDay, 1);
    assert.equal(periodsAt(Date.parse('1970-02-03T05:00:00Z')).month.firstDay, 31);
  });
});
