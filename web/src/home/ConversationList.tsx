// The list of conversations, newest first, with search, filter and infinite scroll.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../components/Callout.tsx';
import { Icon } from '../components/Icon.tsx';
import { StatusBadge } from '../components/StatusBadge.tsx';
import { activityOf, stoppedByItself } from '../components/status.ts';
import { visibleLine } from '../components/visibleText.ts';
import { useShortcuts } from '../layout/shortcuts.ts';
import { filterKey, type ListFilter } from '../live/conversationLists.ts';
import { useParley } from '../session/session.tsx';
import { useLocale, useTexts } from '../texts/texts.tsx';
import { agoText, dollarText } from '../texts/time.ts';
import { useDebounced, useListFilter, useRenderEveryMinute } from './listFilter.ts';

const pageSize = 20;
const statuses = ['STARTING', 'RUNNING', 'STOPPED'] as const;

function useConversations({ q, status }: ListFilter) {
  const parley = useParley();
  return useInfiniteQuery({
    queryKey: filterKey({ q, status }),
    queryFn: ({ pageParam, signal }) =>
      parley.conversations.list(
        {
          limit: pageSize,
          ...(pageParam === undefined ? {} : { page_id: pageParam }),
          ...(q === '' ? {} : { q }),
          ...(status === '' ? {} : { status }),
        },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_page_id }) => next_page_id ?? undefined,
    placeholderData: keepPreviousData,
  });
}

function Row({ info }: { readonly info: ConversationInfo }) {
  const { texts, language } = useLocale();
  const where = [info.selected_repository, info.selected_branch].filter(Boolean).join(' · ');
  return (
    <li>
      <Link href={`/conversations/${encodeURIComponent(info.conversation_id)}`} className="row">
        <span className="title">{visibleLine(info.title)}</span>
        <StatusBadge info={info} activity={activityOf(info.agent_state)} />
        <span className="description">
          {where === '' ? null : <span className="mono">{visibleLine(where)}</span>}
          {stoppedByItself(info) ? <span>{info.stop_reason?.message}</span> : null}
        </span>
        <span className="updated">
          {info.usage.cost_usd > 0 ? `${dollarText(info.usage.cost_usd, language)} · ` : ''}
          <time dateTime={info.last_updated_at}>
            {agoText(info.last_updated_at, language, texts.shell.now)}
          </time>
        </span>
      </Link>
    </li>
  );
}

/** While `enabled`, calls `onVisible` when the element is near the viewport. `onVisible` must be stable. */
function useOnVisible(enabled: boolean, onVisible: () => unknown) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const shown = element.current;
    if (shown === null || !enabled) return;
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && onVisible(),
      { rootMargin: '300px' },
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, [enabled, onVisible]);
  return element;
}

function Rows({ q, status }: ListFilter) {
  const { home, shell } = useTexts();
  const list = useConversations({ q, status });
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = list;
  // After an error the user has to click.
  const end = useOnVisible(hasNextPage && !isFetching && !isFetchNextPageError, fetchNextPage);
  useRenderEveryMinute();
  const all = list.data?.pages.flatMap(({ results }) => results) ?? [];

  if (list.isPending) return <Loading>{shell.loading}</Loading>;
  return (
    <>
      <ErrorCallout
        error={list.error}
        onRetry={() => void (isFetchNextPageError ? fetchNextPage() : list.refetch())}
      />
      {all.length === 0 && !list.hasNextPage && list.error === null ? (
        <div className="empty">
          <Icon name="chat" />
          <p>{q === '' && status === '' ? home.none : home.noMatches}</p>
        </div>
      ) : null}
      <ul className={list.isPlaceholderData ? 'rows outdated' : 'rows'}>
        {all.map((info) => (
          <Row key={info.conversation_id} info={info} />
        ))}
      </ul>
      {hasNextPage ? (
        <button ref={end} type="button" className="button more-rows" onClick={() => void fetchNextPage()}>
          {isFetching ? <span className="spinner" /> : null}
          {home.showMore}
        </button>
      ) : null}
    </>
  );
}

export function ConversationList() {
  const { home } = useTexts();
  const { choice, choose } = useListFilter();
  const q = useDebounced(choice.q.trim());
  const search = useRef<HTMLInputElement>(null);
  useShortcuts(useMemo(() => ({ search: () => search.current?.focus() }), []));
  return (
    <section className="conversation-list" aria-labelledby="list-title">
      <header>
        <h2 id="list-title">{home.list}</h2>
        <div className="filters">
          <div className="search">
            <Icon name="search" />
            <input
              ref={search}
              className="input"
              type="search"
              aria-label={home.search}
              placeholder={home.search}
              value={choice.q}
              onChange={(event) => choose({ q: event.target.value })}
            />
          </div>
          <select
            className="input"
            aria-label={home.status}
            value={choice.status}
            onChange={(event) => choose({ status: event.target.value as ListFilter['status'] })}
          >
            <option value="">{home.anyStatus}</option>
            {statuses.map((name) => (
              <option key={name} value={name}>
                {home.filter[name]}
              </option>
            ))}
          </select>
        </div>
      </header>
      <Rows q={q} status={choice.status} />
    </section>
  );
}
