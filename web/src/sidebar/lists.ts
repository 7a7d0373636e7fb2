// The conversations of the sidebar: pages of the chosen view, and those that must not be missed, however old they are.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type ListQuery, queryKeyOf } from '../live/conversationLists.ts';
import { useDraft } from '../session/drafts.ts';
import { useParley } from '../session/session.tsx';
import { merge } from './groups.ts';

const pageSize = 50;
/** Pinned and running conversations beyond this number are shown where they are in the list. */
const shortlistMax = 100;

export type View = 'active' | 'unread' | 'archived';

interface ListChoice {
  readonly text: string;
  readonly view: View;
}

const noChoice: ListChoice = { text: '', view: 'active' };

/** It is a draft, so that it is still set after a reload. */
export function useListChoice() {
  const { draft: choice, change: choose } = useDraft('sidebar', noChoice);
  return { choice, choose };
}

function usePages(query: ListQuery, limit: number, enabled = true) {
  const parley = useParley();
  return useInfiniteQuery({
    queryKey: queryKeyOf(query),
    queryFn: ({ pageParam, signal }) =>
      parley.conversations.list(
        { limit, ...query, ...(pageParam === undefined ? {} : { page_id: pageParam }) },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_id }) => next_page_id ?? undefined,
    placeholderData: keepPreviousData,
    enabled,
  });
}

const views: Readonly<Record<View, ListQuery>> = {
  active: { archived: false },
  unread: { archived: false, unread: true },
  archived: { archived: true },
};

const conversationsOf = ({ data }: ReturnType<typeof usePages>) =>
  data?.pages.flatMap(({ results }) => results) ?? [];

/** `title`: part of a title or repository; then archived conversations are included. */
export function useSidebarList(view: View, title: string) {
  const list = usePages(title === '' ? views[view] : { q: title }, pageSize);
  const isActiveView = view === 'active' && title === '';
  const running = usePages({ archived: false, status: 'RUNNING' }, shortlistMax);
  const pinned = usePages({ archived: false, pinned: true }, shortlistMax);
  const [listed, active, first] = [list.data, running.data, pinned.data];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the data of a query changes when its conversations do
  return useMemo(() => {
    const shown = conversationsOf(list);
    const shortlist = [...conversationsOf(running), ...conversationsOf(pinned)];
    return {
      list,
      conversations: isActiveView ? merge([shown, shortlist]) : shown,
      /** Also those that the view does not show. */
      known: merge([shown, shortlist]),
    };
  }, [listed, active, first, list.status, list.fetchStatus, isActiveView]);
}
