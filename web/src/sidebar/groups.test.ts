import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { groupConversations, merge, neighbour, nextForUser } from './groups.ts';

const texts = {
  pinned: 'Pinned',
  today: 'Today',
  yesterday: 'Yesterday',
  lastWeek: 'Last week',
  noRepository: 'None',
};
const now = new Date(2026, 2, 30, 1);
const options = { grouping: 'day', pinnedFirst: true, texts, language: 'en', now } as const;

function info(id: string, created: Date, part: Partial<ConversationInfo> = {}): ConversationInfo {
  return {
    conversation_id: id,
    created_at: created.toISOString(),
    selected_repository: null,
    pinned: false,
    unread: false,
    status: 'STOPPED',
    agent_state: null,
    stop_reason: null,
    ...part,
  } as ConversationInfo;
}

const shown = (groups: ReturnType<typeof groupConversations>) =>
  groups.map(({ label, conversations }) => [label, ...conversations.map((each) => each.conversation_id)]);

describe('groups of conversations', () => {
  it('are days of the calendar, also where one has 23 hours, then months', () => {
    const all = [
      info('a', new Date(2026, 2, 30, 0, 30)),
      info('b', new Date(2026, 2, 29, 23, 59)),
      info('c', new Date(2026, 2, 24, 12)),
      info('d', new Date(2026, 2, 23, 12)),
      info('e', new Date(2025, 11, 31)),
    ];
    assert.deepEqual(shown(groupConversations(all, options)), [
      ['Today', 'a'],
      ['Yesterday', 'b'],
      ['Last week', 'c'],
      ['March 2026', 'd'],
      ['December 2025', 'e'],
    ]);
  });

  it('are repositories in the order of their newest conversation, after pinned ones if the user wants that', () => {
    const all = [
      info('a', now, { selected_repository: 'acme/shop' }),
      info('b', now),
      info('c', now, { pinned: true, selected_repository: 'acme/shop' }),
    ];
    const byRepository = { ...options, grouping: 'repository' } as const;
    assert.deepEqual(shown(groupConversations(all, byRepository)), [
      ['Pinned', 'c'],
      ['acme/shop', 'a'],
      ['None', 'b'],
    ]);
    assert.deepEqual(shown(groupConversations(all, { ...byRepository, pinnedFirst: false })), [
      ['acme/shop', 'a', 'c'],
      ['None', 'b'],
    ]);
  });
});

describe('lists that overlap', () => {
  it('become one, newest first', () => {
    const [old, young] = [info('old', new Date(2026, 1, 1)), info('young', now)];
    assert.deepEqual(merge([[old], [young, old]]), [young, old]);
  });
});

describe('the next conversation', () => {
  it('is the neighbour, around the ends, or the first', () => {
    const ids = ['a', 'b', 'c'];
    assert.equal(neighbour(ids, 'a', 1), 'b');
    assert.equal(neighbour(ids, 'a', -1), 'c');
    assert.equal(neighbour(ids, 'gone', 1), 'a');
    assert.equal(neighbour([], undefined, -1), undefined);
  });

  it('that needs the user is one with an approval request, or an unread one that waits', () => {
    const waiting = { status: 'RUNNING', agent_state: 'awaiting_user_input', unread: true } as const;
    const asking = { status: 'RUNNING', agent_state: 'awaiting_user_confirmation' } as const;
    const all = [
      info('a', now, asking),
      info('b', now, waiting),
      info('c', now, { ...waiting, unread: false }),
      info('d', now, asking),
    ];
    assert.equal(nextForUser(all, 'b'), 'd');
    assert.equal(nextForUser(all, 'd'), 'a');
    assert.equal(nextForUser(all.slice(1, 3), undefined), 'b');
    assert.equal(nextForUser(all.slice(1, 3), 'b'), undefined);
    assert.equal(nextForUser([info('s', now, { ...waiting, agent_state: 'running' })], undefined), undefined);
  });
});
