// What a change does to the lists that the page holds.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { Change, ConversationInfo } from '../../../src/client/parley.ts';
import { choiceKey, type Pages, takeChange } from './lists.ts';

const plain = choiceKey({ q: '', status: '' });
const running = choiceKey({ q: '', status: 'RUNNING' });

function holding(...lists: readonly [readonly unknown[], readonly string[]][]): QueryClient {
  const queries = new QueryClient();
  for (const [key, ids] of lists) {
    const results = ids.map((id) => ({ conversation_id: id, status: 'RUNNING' }) as ConversationInfo);
    const pages: Pages = { pages: [{ results, next_page_id: null }], pageParams: [undefined] };
    queries.setQueryData(key, pages);
  }
  return queries;
}

function changeOf(id: string, status: Change['status']): Change {
  return {
    conversation_id: id,
    status,
    agent_state: null,
    title: 'T',
    stop_reason: null,
    at: '2026-01-01T00:00:00.000Z',
  };
}

function statusesIn(queries: QueryClient, key: readonly unknown[]) {
  const { pages = [] } = queries.getQueryData<Pages>(key) ?? {};
  return pages.flatMap(({ results }) => results.map(({ status }) => status));
}

const isOld = (queries: QueryClient, key: readonly unknown[]) => queries.getQueryState(key)?.isInvalidated;

describe('a change', () => {
  it('is put into the list of all conversations, which is not read again for it', () => {
    const queries = holding([plain, ['a', 'b']]);
    takeChange(queries, changeOf('a', 'STOPPED'));
    assert.deepEqual(statusesIn(queries, plain), ['STOPPED', 'RUNNING']);
    takeChange(queries, changeOf('b', null));
    assert.deepEqual(statusesIn(queries, plain), ['STOPPED']);
    assert.equal(isOld(queries, plain), false);
  });

  it('has lists with a filter read again, whether they hold the conversation or not', () => {
    const queries = holding([plain, ['a', 'b']], [running, ['a']]);
    takeChange(queries, changeOf('b', 'RUNNING'));
    assert.deepEqual([isOld(queries, plain), isOld(queries, running)], [false, true]);
  });

  it('of a conversation that the list does not hold has it read again, unless that is gone', () => {
    const queries = holding([plain, ['a']]);
    takeChange(queries, changeOf('gone', null));
    assert.equal(isOld(queries, plain), false);
    takeChange(queries, changeOf('new', 'STARTING'));
    assert.equal(isOld(queries, plain), true);
  });

  it('while the list is read has it read again: what is under way may be older', async () => {
    const queries = holding([plain, ['a']]);
    const reading = queries.fetchQuery({ queryKey: plain, queryFn: () => new Promise<Pages>(() => {}) });
    takeChange(queries, changeOf('a', 'STOPPED'));
    assert.equal(isOld(queries, plain), true);
    await queries.cancelQueries();
    await reading.catch(() => {});
    queries.clear();
  });
});
