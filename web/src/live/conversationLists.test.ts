import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { Change, ConversationInfo } from '../../../src/client/parley.ts';
import { applyChange, filterKey, type Pages } from './conversationLists.ts';

const plain = filterKey({ q: '', status: '' });
const running = filterKey({ q: '', status: 'RUNNING' });

function cacheWith(...lists: readonly [readonly unknown[], readonly string[]][]): QueryClient {
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

const isStale = (queries: QueryClient, key: readonly unknown[]) => queries.getQueryState(key)?.isInvalidated;

describe('a change', () => {
  it('is applied to the unfiltered list without fetching it again', () => {
    const queries = cacheWith([plain, ['a', 'b']]);
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.deepEqual(statusesIn(queries, plain), ['STOPPED', 'RUNNING']);
    applyChange(queries, changeOf('b', null));
    assert.deepEqual(statusesIn(queries, plain), ['STOPPED']);
    assert.equal(isStale(queries, plain), false);
  });

  it('makes filtered lists stale, whether they contain the conversation or not', () => {
    const queries = cacheWith([plain, ['a', 'b']], [running, ['a']]);
    applyChange(queries, changeOf('b', 'RUNNING'));
    assert.deepEqual([isStale(queries, plain), isStale(queries, running)], [false, true]);
  });

  it('of a conversation that is not in the list makes the list stale, unless it was deleted', () => {
    const queries = cacheWith([plain, ['a']]);
    applyChange(queries, changeOf('gone', null));
    assert.equal(isStale(queries, plain), false);
    applyChange(queries, changeOf('new', 'STARTING'));
    assert.equal(isStale(queries, plain), true);
  });

  it('makes a list stale that is being fetched, because the answer may be older', async () => {
    const queries = cacheWith([plain, ['a']]);
    const reading = queries.fetchQuery({ queryKey: plain, queryFn: () => new Promise<Pages>(() => {}) });
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.equal(isStale(queries, plain), true);
    await queries.cancelQueries();
    await reading.catch(() => {});
    queries.clear();
  });
});
