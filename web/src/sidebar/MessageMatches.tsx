// What was said in conversations and matches the search, with the found words marked.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { Link } from 'wouter';
import { ErrorCallout } from '../components/Callout.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { eventHref } from '../conversation/timeline/eventLinks.ts';
import { listKey } from '../live/conversationLists.ts';
import { panesUrl } from '../panes/paneUrls.ts';
import { useParley } from '../session/session.tsx';
import { useTexts } from '../texts/texts.tsx';
import { markedParts, searchQuery } from './searchText.ts';

const pageSize = 20;

/** Searches everything that was said, as the user types. */
export function useMessageMatches(text: string, limit = pageSize) {
  const parley = useParley();
  const q = searchQuery(text);
  return useInfiniteQuery({
    // Not one of the lists, which changes update in place.
    queryKey: ['search', ...listKey, q, limit],
    queryFn: ({ pageParam, signal }) =>
      parley.conversations.search(
        q ?? '',
        { limit, ...(pageParam === undefined ? {} : { page_id: pageParam }) },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_id }) => next_page_id ?? undefined,
    placeholderData: keepPreviousData,
    enabled: q !== undefined,
  });
}

interface MarkedProps {
  readonly text: string;
  readonly ranges: readonly { readonly start: number; readonly end: number }[];
}

export function Marked({ text, ranges }: MarkedProps) {
  return markedParts(text, ranges).map(({ part, isMarked, start }) =>
    isMarked ? (
      <mark key={start}>{visibleLine(part)}</mark>
    ) : (
      <Fragment key={start}>{visibleLine(part)}</Fragment>
    ),
  );
}

interface MatchesProps {
  readonly text: string;
  readonly onOpen: (id: string, eventId: number | undefined) => void;
}

export function MessageMatches({ text, onOpen }: MatchesProps) {
  const { sidebar, home } = useTexts();
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useMessageMatches(text);
  const found =
    data?.pages.flatMap(({ results }) => results.filter(({ matches }) => matches.length > 0)) ?? [];
  return (
    <section className="conversation-group" aria-label={sidebar.inMessages}>
      <h2>{sidebar.inMessages}</h2>
      <ErrorCallout error={error} onRetry={() => void refetch()} />
      {found.length === 0 && !isFetching && error === null ? (
        <p className="muted nothing">{sidebar.nothingSaid}</p>
      ) : null}
      <ul className="matches">
        {found.map(({ conversation_id: id, title, matches: [match] }) => (
          <li key={id} data-conversation={id}>
            <Link
              href={`${panesUrl([id])}${match === undefined ? '' : eventHref(match.event_id)}`}
              className="row"
              onClick={(event) => {
                if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
                event.preventDefault();
                onOpen(id, match?.event_id);
              }}
            >
              <span className="title">{visibleLine(title)}</span>
              <span className="snippet">
                <Marked text={match?.snippet ?? ''} ranges={match?.ranges ?? []} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {hasNextPage ? (
        <button type="button" className="button plain more-rows" onClick={() => void fetchNextPage()}>
          {isFetching ? <span className="spinner" /> : null}
          {home.showMore}
        </button>
      ) : null}
    </section>
  );
}
