import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Change } from '../../../src/client/parley.ts';
import { createNotificationFilter } from './notifications.ts';

function change(part: Partial<Change>): Change {
  const at = '2026-01-01T00:00:00.000Z';
  return {
    conversation_id: 'a',
    status: 'RUNNING',
    agent_state: null,
    title: 'T',
    stop_reason: null,
    at,
    ...part,
  };
}

describe('a change', () => {
  it('notifies when an agent waits after it worked, not before its first turn', () => {
    const isNotable = createNotificationFilter();
    assert.equal(isNotable(change({ status: 'STARTING' })), false);
    assert.equal(isNotable(change({ agent_state: 'awaiting_user_input' })), false);
    assert.equal(isNotable(change({ agent_state: 'running' })), false);
    assert.equal(isNotable(change({ conversation_id: 'b', agent_state: 'awaiting_user_input' })), false);
    assert.equal(isNotable(change({ agent_state: 'awaiting_user_input' })), true);
    assert.equal(isNotable(change({ agent_state: 'awaiting_user_input', title: 'Renamed' })), false);
  });

  it('notifies when an agent asks for approval or a conversation stops by itself', () => {
    const isNotable = createNotificationFilter();
    assert.equal(isNotable(change({ agent_state: 'awaiting_user_confirmation' })), true);
    const ended = (code: 'idle' | 'user') =>
      change({ status: 'STOPPED', stop_reason: { code, message: '' } });
    assert.equal(isNotable(ended('idle')), true);
    assert.equal(isNotable(ended('user')), false);
  });
});
