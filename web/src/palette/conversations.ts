// The conversations that the palette finds: those that are loaded at once, all others from the service.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { listKey, type Pages } from '../live/conversationLists.ts';
import { useParley } from '../session/session.tsx';
import { merge } from '../sidebar/groups.ts';
import { useMessageMatches } from '../sidebar/MessageMatches.tsx';
import { useDebounced } from '../sidebar/timing.ts';
import { matchesWords } from './words.ts';

const titlesMax = 8;
const messagesMax = 5;

type Found = Pick<ConversationInfo, 'conversation_id' | 'title' | 'selected_repository'>;

/**
 * Those that match now, and others from the service that match the text of a moment ago. Titles with the text as it was
 * typed come before those that only have its words.
 */
export function findTitles(
  loaded: readonly Found[],
  served: readonly Found[],
  text: string,
): readonly Found[] {
  const all = new Map([...served, ...loaded].map((info) => [info.conversation_id, info]));
  const found = [...all.values()].filter(({ title, selected_repository: repository }) =>
    matchesWords(`${title} ${repository ?? ''}`, text),
  );
  const hasText = ({ title }: Found) => title.toLowerCase().includes(text.toLowerCase());
  return found.sort((a, b) => Number(hasText(b)) - Number(hasText(a))).slice(0, titlesMax);
}

function useTitles(q: string) {
  const parley = useParley();
  return useQuery({
    queryKey: ['palette', q],
    queryFn: ({ signal }) => parley.conversations.list({ q, limit: titlesMax }, { signal }),
    placeholderData: keepPreviousData,
    enabled: q !== '',
  });
}

export function useFoundConversations(text: string) {
  const queries = useQueryClient();
  const [loaded] = useState(() =>
    merge(
      queries
        .getQueriesData<Pages>({ queryKey: listKey })
        .flatMap(([, pages]) => pages?.pages.map(({ results }) => results) ?? []),
    ),
  );
  const q = useDebounced(text);
  const served = useTitles(q);
  const said = useMessageMatches(q, messagesMax);
  const isSearched = q !== '' && text !== '';
  const results = isSearched ? (said.data?.pages[0]?.results ?? []) : [];
  return {
    titles: findTitles(loaded, isSearched ? (served.data?.results ?? []) : [], text),
    messages: results.filter(({ matches }) => matches.length > 0),
    isSearching: text !== q || served.isFetching || said.isFetching,
  };
}
