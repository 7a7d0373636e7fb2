// Applies changes of conversations to the lists in the query cache.
import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { Change, ConversationInfo, ConversationList, ListFilter } from '../../../src/client/parley.ts';

/** What a list contains; a field that is absent matches every conversation. */
export type ListQuery = Pick<ListFilter, 'q' | 'status' | 'archived' | 'pinned' | 'unread'>;

export type Pages = InfiniteData<ConversationList, string | undefined>;

export const listKey = ['conversations'];
export const queryKeyOf = (query: ListQuery) => [...listKey, query];
export const infoKey = (id: string) => ['conversation', id];

/** Fields that a change has, too. */
const sameFields = ['status', 'archived', 'pinned', 'unread'] as const;

/** Whether nothing in the conversation, or in its change, excludes it from the list. */
function mayMatch(
  query: ListQuery,
  state: Partial<Omit<ConversationInfo, 'status'>> & Pick<Change, 'status'>,
) {
  return sameFields.every(
    (field) => query[field] === undefined || state[field] === undefined || query[field] === state[field],
  );
}

function matchesText({ q }: ListQuery, { title, selected_repository }: ConversationInfo): boolean {
  const words = q?.toLowerCase() ?? '';
  return [title, selected_repository ?? ''].some((text) => text.toLowerCase().includes(words));
}

/** A change of a mark alone is not activity of the conversation. */
function isActivity(info: ConversationInfo, change: Change): boolean {
  return (
    info.status !== change.status ||
    info.agent_state !== change.agent_state ||
    info.title !== change.title ||
    info.stop_reason?.code !== change.stop_reason?.code
  );
}

/** The conversation after the change; undefined if it was deleted. */
export function updated(info: ConversationInfo, change: Change): ConversationInfo | undefined {
  if (change.status === null) return undefined;
  return {
    ...info,
    status: change.status,
    agent_state: change.agent_state,
    title: change.title,
    stop_reason: change.stop_reason,
    last_updated_at: isActivity(info, change) ? change.at : info.last_updated_at,
    pinned: change.pinned ?? info.pinned,
    archived: change.archived ?? info.archived,
    unread: change.unread ?? info.unread,
  };
}

/** Returns the pages with the change, or undefined if they do not contain the conversation. */
function apply(pages: Pages, query: ListQuery, change: Change): Pages | undefined {
  let found = false;
  const after = pages.pages.map((page) => ({
    ...page,
    results: page.results.flatMap((info) => {
      if (info.conversation_id !== change.conversation_id) return [info];
      found = true;
      const next = updated(info, change);
      return next !== undefined && mayMatch(query, next) && matchesText(query, next) ? [next] : [];
    }),
  }));
  return found ? { ...pages, pages: after } : undefined;
}

export function refetchLists(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: listKey });
}

/**
 * Updates each list that contains the conversation in place. A list that lacks it, but may have to contain it now, is
 * fetched again. So is a list that is being fetched and may miss the change.
 */
export function applyChange(queries: QueryClient, change: Change): void {
  for (const [queryKey, before] of queries.getQueriesData<Pages>({ queryKey: listKey })) {
    const query = (queryKey.at(-1) ?? {}) as ListQuery;
    const after = before && apply(before, query, change);
    if (after !== undefined) queries.setQueryData<Pages>(queryKey, after);
    const isMissing = after === undefined && change.status !== null && mayMatch(query, change);
    if (isMissing || queries.isFetching({ queryKey, exact: true }) > 0)
      void queries.invalidateQueries({ queryKey, exact: true });
  }
  void queries.invalidateQueries({ queryKey: infoKey(change.conversation_id) });
}
