// Applies changes of conversations to the lists in the query cache.
import type { InfiniteData, QueryClient, QueryKey } from '@tanstack/react-query';
import type {
  Change,
  ConversationInfo,
  ConversationList,
  ConversationStatus,
} from '../../../src/client/parley.ts';

export interface ListFilter {
  readonly q: string;
  readonly status: ConversationStatus | '';
}

export type Pages = InfiniteData<ConversationList, string | undefined>;

export const listKey = ['conversations'];
const noFilter: ListFilter = { q: '', status: '' };

export const filterKey = ({ q, status }: ListFilter) => [...listKey, { q, status }];
export const infoKey = (id: string) => ['conversation', id];

function updated(info: ConversationInfo, change: Change): ConversationInfo[] {
  if (change.status === null) return [];
  return [
    {
      ...info,
      status: change.status,
      agent_state: change.agent_state,
      title: change.title,
      stop_reason: change.stop_reason,
      last_updated_at: change.at,
    },
  ];
}

/** Returns the pages with the change, or undefined if they do not contain the conversation. */
function apply(pages: Pages, change: Change): Pages | undefined {
  let found = false;
  const after = pages.pages.map((page) => ({
    ...page,
    results: page.results.flatMap((info) => {
      if (info.conversation_id !== change.conversation_id) return [info];
      found = true;
      return updated(info, change);
    }),
  }));
  return found ? { ...pages, pages: after } : undefined;
}

export function refetchLists(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: listKey });
}

/**
 * Updates the unfiltered list in place. Only the service knows which conversations match a filter, so that filtered lists
 * are fetched again. So is a list that lacks the conversation, or that is being fetched and may miss the change.
 */
export function applyChange(queries: QueryClient, change: Change): void {
  const queryKey = filterKey(noFilter);
  const isUnfiltered = (key: QueryKey) => JSON.stringify(key) === JSON.stringify(queryKey);
  const before = queries.getQueryData<Pages>(queryKey);
  const after = before && apply(before, change);
  const known = after !== undefined || (before !== undefined && change.status === null);
  if (after !== undefined) queries.setQueryData<Pages>(queryKey, after);
  const refetchAll = !known || queries.isFetching({ queryKey, exact: true }) > 0;
  void queries.invalidateQueries({
    queryKey: listKey,
    predicate: (query) => refetchAll || !isUnfiltered(query.queryKey),
  });
  void queries.invalidateQueries({ queryKey: infoKey(change.conversation_id) });
}
