import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { Change, ConversationInfo } from '../../../src/client/parley.ts';
import { applyChange, type ListQuery, type Pages, queryKeyOf } from './conversationLists.ts';

const all = queryKeyOf({});
const running = queryKeyOf({ status: 'RUNNING' });
const active = queryKeyOf({ archived: false });
const pinned = queryKeyOf({ archived: false, pinned: true });
const before = '2026-01-01T00:00:00.000Z';

function infoOf(id: string): ConversationInfo {
  const marks = { pinned: false, archived: false, unread: false };
  const state = { status: 'RUNNING', agent_state: 'running', stop_reason: null };
  const info = { conversation_id: id, title: 'T', selected_repository: 'acme/shop', last_updated_at: before };
  return { ...info, ...state, ...marks } as ConversationInfo;
}

function cacheWith(...lists: readonly [readonly unknown[], readonly string[]][]): QueryClient {
  const queries = new QueryClient();
  for (const [key, ids] of lists) {
    const pages: Pages = {
      pages: [{ results: ids.map(infoOf), next_page_id: null }],
      pageParams: [undefined],
    };
    queries.setQueryData(key, pages);
  }
  return queries;
}

function changeOf(id: string, status: Change['status'], part: Partial<Change> = {}): Change {
  return {
    conversation_id: id,
    status,
    agent_state: status === 'RUNNING' ? 'running' : null,
    title: 'T',
    stop_reason: null,
    at: '2026-01-02T00:00:00.000Z',
    pinned: false,
    archived: false,
    unread: false,
    ...part,
  };
}

function infosIn(queries: QueryClient, key: readonly unknown[]) {
  const { pages = [] } = queries.getQueryData<Pages>(key) ?? {};
  return pages.flatMap(({ results }) => results);
}

const statusesIn = (queries: QueryClient, key: readonly unknown[]) =>
  infosIn(queries, key).map(({ status }) => status);
const idsIn = (queries: QueryClient, key: readonly unknown[]) =>
  infosIn(queries, key).map(({ conversation_id }) => conversation_id);

const isStale = (queries: QueryClient, key: readonly unknown[]) => queries.getQueryState(key)?.isInvalidated;

describe('a change', () => {
  it('is applied to the lists without fetching them again', () => {
    const queries = cacheWith([all, ['a', 'b']]);
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.deepEqual(statusesIn(queries, all), ['STOPPED', 'RUNNING']);
    applyChange(queries, changeOf('b', null));
    assert.deepEqual(statusesIn(queries, all), ['STOPPED']);
    assert.equal(isStale(queries, all), false);
  });

  it('of a mark alone keeps the time of the last activity', () => {
    const queries = cacheWith([all, ['a']]);
    applyChange(queries, changeOf('a', 'RUNNING', { pinned: true, unread: true }));
    const [marked] = infosIn(queries, all);
    assert.deepEqual([marked?.pinned, marked?.unread, marked?.last_updated_at], [true, true, before]);
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.notEqual(infosIn(queries, all)[0]?.last_updated_at, before);
  });

  it('without marks, as older versions have recorded it, keeps those of the conversation', () => {
    const queries = cacheWith([all, ['a']]);
    const { pinned: _, archived: __, unread: ___, ...old } = changeOf('a', 'STOPPED');
    applyChange(queries, old);
    assert.equal(infosIn(queries, all)[0]?.archived, false);
  });

  it('removes the conversation from lists that it no longer matches, and makes those stale that lack it', () => {
    const queries = cacheWith([active, ['a', 'b']], [running, ['a']], [pinned, []]);
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.deepEqual([idsIn(queries, active), idsIn(queries, running)], [['a', 'b'], []]);
    assert.deepEqual([isStale(queries, pinned), isStale(queries, running)], [false, false]);
    applyChange(queries, changeOf('b', 'RUNNING', { pinned: true }));
    assert.deepEqual([isStale(queries, pinned), isStale(queries, running)], [true, true]);
    applyChange(queries, changeOf('a', 'STOPPED', { archived: true }));
    assert.deepEqual(idsIn(queries, active), ['b']);
    assert.equal(isStale(queries, active), false);
  });

  it('of the title removes the conversation from a search that it no longer matches', () => {
    const query: ListQuery = { q: 'SHOP' };
    const queries = cacheWith([queryKeyOf(query), ['a']], [queryKeyOf({ q: 't' }), ['a']]);
    applyChange(queries, changeOf('a', 'RUNNING', { title: 'Other' }));
    assert.deepEqual(idsIn(queries, queryKeyOf(query)), ['a']);
    applyChange(queries, changeOf('a', 'RUNNING', { title: 'Zoo' }));
    assert.deepEqual(idsIn(queries, queryKeyOf({ q: 't' })), []);
  });

  it('of a conversation that is not in the list makes the list stale, unless it was deleted', () => {
    const queries = cacheWith([all, ['a']]);
    applyChange(queries, changeOf('gone', null));
    assert.equal(isStale(queries, all), false);
    applyChange(queries, changeOf('new', 'STARTING'));
    assert.equal(isStale(queries, all), true);
  });

  it('makes a list stale that is being fetched, because the answer may be older', async () => {
    const queries = cacheWith([all, ['a']]);
    const reading = queries.fetchQuery({ queryKey: all, queryFn: () => new Promise<Pages>(() => {}) });
    applyChange(queries, changeOf('a', 'STOPPED'));
    assert.equal(isStale(queries, all), true);
    await queries.cancelQueries();
    await reading.catch(() => {});
    queries.clear();
  });
});
