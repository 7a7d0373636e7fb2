// The lists of conversations that the page holds, and what a change does to each.
import type { InfiniteData, QueryClient, QueryKey } from '@tanstack/react-query';
import type {
  Change,
  ConversationInfo,
  ConversationList,
  ConversationStatus,
} from '../../../src/client/parley.ts';

export interface ListChoice {
  readonly q: string;
  readonly status: ConversationStatus | '';
}

export type Pages = InfiniteData<ConversationList, string | undefined>;

export const listKey = ['conversations'];
const all: ListChoice = { q: '', status: '' };

/** Of the list of those that were chosen. */
export const choiceKey = ({ q, status }: ListChoice) => [...listKey, { q, status }];
export const infoKey = (id: string) => ['conversation', id];

function changed(info: ConversationInfo, change: Change): ConversationInfo[] {
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

/** The pages with the change in them; undefined where they do not hold the conversation. */
function apply(pages: Pages, change: Change): Pages | undefined {
  let found = false;
  const after = pages.pages.map((page) => ({
    ...page,
    results: page.results.flatMap((info) => {
      if (info.conversation_id !== change.conversation_id) return [info];
      found = true;
      return changed(info, change);
    }),
  }));
  return found ? { ...pages, pages: after } : undefined;
}

export function readListsAgain(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: listKey });
}

/**
 * Puts the change into the list of all conversations. Which of them fit a search or a status only the service knows:
 * those lists are read again, and so is one that does not hold the conversation, or that is being read just now.
 */
export function takeChange(queries: QueryClient, change: Change): void {
  const queryKey = choiceKey(all);
  const isAll = (key: QueryKey) => JSON.stringify(key) === JSON.stringify(queryKey);
  const before = queries.getQueryData<Pages>(queryKey);
  const after = before && apply(before, change);
  const known = after !== undefined || (before !== undefined && change.status === null);
  if (after !== undefined) queries.setQueryData<Pages>(queryKey, after);
  const again = !known || queries.isFetching({ queryKey, exact: true }) > 0;
  void queries.invalidateQueries({
    queryKey: listKey,
    predicate: (query) => again || !isAll(query.queryKey),
  });
  void queries.invalidateQueries({ queryKey: infoKey(change.conversation_id) });
}
