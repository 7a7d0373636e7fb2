import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shareSlots } from './slots.ts';

function due(webhook_id: string, user_id: number | null) {
  return { webhook_id, user_id, due_at: 0 };
}

function underWay(webhook_id: string, user_id: number, count: number) {
  return Array.from({ length: count }, () => ({ webhook_id, user_id }));
}

describe('the places for messages under way', () => {
  it('are four for one webhook', () => {
    assert.deepEqual(shareSlots([due('a', 1)], []), [{ id: 'a', max: 4 }]);
    assert.deepEqual(shareSlots([due('a', 1)], underWay('a', 1, 3)), [{ id: 'a', max: 1 }]);
    assert.deepEqual(shareSlots([due('a', 1)], underWay('a', 1, 4)), []);
  });

  it('are eight for one user, spread over the webhooks', () => {
    const webhooks = ['a', 'b', 'c'].map((id) => due(id, 1));
    assert.deepEqual(shareSlots(webhooks, []), [
      { id: 'a', max: 3 },
      { id: 'b', max: 3 },
      { id: 'c', max: 2 },
    ]);
    assert.deepEqual(shareSlots(webhooks, underWay('gone', 1, 8)), []);
  });

  it('go to the user with the fewest, then to the webhook with the fewest, then to the first', () => {
    const webhooks = [due('a', 1), due('b', 1), due('c', 2), due('d', 3)];
    const busy = [...underWay('a', 1, 4), ...underWay('d', 3, 3), ...underWay('e', 4, 6)];
    assert.deepEqual(shareSlots(webhooks, busy), [{ id: 'c', max: 3 }]);
    assert.deepEqual(shareSlots(webhooks, [...busy, ...underWay('c', 2, 2)]), [{ id: 'c', max: 1 }]);
    assert.deepEqual(shareSlots([due('a', 1), due('b', 1)], busy), [{ id: 'b', max: 3 }]);
  });

  it('are sixteen together', () => {
    const webhooks = Array.from({ length: 40 }, (_, i) => due(`w${i}`, i));
    assert.equal(shareSlots(webhooks, []).length, 16);
    assert.deepEqual(shareSlots(webhooks, underWay('busy', 99, 8)).length, 8);
    assert.deepEqual(shareSlots(webhooks, [...underWay('x', 98, 8), ...underWay('y', 99, 8)]), []);
  });

  it('are not for webhooks that are gone', () => {
    assert.deepEqual(shareSlots([due('a', null), due('b', 1)], []), [{ id: 'b', max: 4 }]);
  });
});
