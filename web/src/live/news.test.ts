// Which changes are worth a sound.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Change } from '../../../src/client/parley.ts';
import { createNews } from './news.ts';

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
  it('is news where an agent that worked waits, and not where it has not begun', () => {
    const isNews = createNews();
    assert.equal(isNews(change({ status: 'STARTING' })), false);
    assert.equal(isNews(change({ agent_state: 'awaiting_user_input' })), false);
    assert.equal(isNews(change({ agent_state: 'running' })), false);
    assert.equal(isNews(change({ conversation_id: 'b', agent_state: 'awaiting_user_input' })), false);
    assert.equal(isNews(change({ agent_state: 'awaiting_user_input' })), true);
    assert.equal(isNews(change({ agent_state: 'awaiting_user_input', title: 'Renamed' })), false);
  });

  it('is news where an agent asks, or a conversation ends that nobody stopped', () => {
    const isNews = createNews();
    assert.equal(isNews(change({ agent_state: 'awaiting_user_confirmation' })), true);
    const ended = (code: 'idle' | 'user') =>
      change({ status: 'STOPPED', stop_reason: { code, message: '' } });
    assert.equal(isNews(ended('idle')), true);
    assert.equal(isNews(ended('user')), false);
  });
});
