// All conversations, newest first, with search; the next page comes when the end is seen.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { ConversationInfo, ConversationStatus } from '../../../src/client/parley.ts';
import { listKey } from '../live/changes.ts';
import { ErrorCallout, Loading } from '../parts/Callout.tsx';
import { Icon } from '../parts/Icon.tsx';
import { StatusBadge } from '../parts/StatusBadge.tsx';
import { useParley } from '../session/session.tsx';
import { useShortcuts } from '../shell/shortcuts.ts';
import { useTexts, useWords } from '../texts/texts.tsx';
import { agoText, dollarText } from '../texts/time.ts';

const pageSize = 20;
const statuses = ['STARTING', 'RUNNING', 'STOPPED'] as const;

function useList(q: string, status: ConversationStatus | '') {
  const parley = useParley();
  return useInfiniteQuery({
    queryKey: [...listKey, { q, status }],
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
  const { texts, language } = useWords();
  const where = [info.selected_repository, info.selected_branch].filter(Boolean).join(' · ');
  const failed = info.status === 'STOPPED' && info.stop_reason !== null && info.stop_reason.code !== 'user';
  return (
    <li>
      <Link href={`/conversations/${encodeURIComponent(info.conversation_id)}`} className="row">
        <span className="title">{info.title}</span>
        <StatusBadge info={info} />
        <span className="about">
          {where === '' ? null : <span className="mono">{where}</span>}
          {failed ? <span>{info.stop_reason?.message}</span> : null}
        </span>
        <span className="when">
          {info.usage.cost_usd > 0 ? `${dollarText(info.usage.cost_usd, language)} · ` : ''}
          <time dateTime={info.last_updated_at}>
            {agoText(info.last_updated_at, language, texts.shell.now)}
          </time>
        </span>
      </Link>
    </li>
  );
}

/** Calls `onSeen` whenever the element comes near the screen. */
function useSeen(onSeen: () => void) {
  const element = useRef<HTMLButtonElement>(null);
  const latest = useRef(onSeen);
  latest.current = onSeen;
  useEffect(() => {
    const shown = element.current;
    if (shown === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) latest.current();
      },
      { rootMargin: '300px' },
    );
    observer.observe(shown);
    return () => observer.disconnect();
  });
  return element;
}

function Rows({ q, status }: { readonly q: string; readonly status: ConversationStatus | '' }) {
  const { home, shell } = useTexts();
  const list = useList(q, status);
  const { hasNextPage, isFetching, fetchNextPage } = list;
  const end = useSeen(() => hasNextPage && !isFetching && void fetchNextPage());
  const all = list.data?.pages.flatMap(({ results }) => results) ?? [];

  if (list.isPending) return <Loading>{shell.loading}</Loading>;
  return (
    <>
      <ErrorCallout error={list.error} onRetry={() => void list.refetch()} />
      {all.length === 0 && !list.hasNextPage && list.error === null ? (
        <div className="empty">
          <Icon name="chat" />
          <p>{q === '' && status === '' ? home.none : home.noneFound}</p>
        </div>
      ) : null}
      <ul className={list.isPlaceholderData ? 'rows old' : 'rows'}>
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
  const texts = useTexts();
  const { home } = texts;
  const [typed, setTyped] = useState('');
  const [status, setStatus] = useState<ConversationStatus | ''>('');
  const q = useDeferredValue(typed.trim());
  const search = useRef<HTMLInputElement>(null);
  useShortcuts(useMemo(() => ({ search: () => search.current?.focus() }), []));
  return (
    <section className="list" aria-labelledby="list-title">
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
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
          <select
            className="input"
            aria-label={home.status}
            value={status}
            onChange={(event) => setStatus(event.target.value as ConversationStatus | '')}
          >
            <option value="">{home.anyStatus}</option>
            {statuses.map((name) => (
              <option key={name} value={name}>
                {texts.status[name]}
              </option>
            ))}
          </select>
        </div>
      </header>
      <Rows q={q} status={status} />
    </section>
  );
}
