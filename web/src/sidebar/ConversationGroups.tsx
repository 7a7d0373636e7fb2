// The list of conversations in the sidebar, in groups, with infinite scroll.
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../components/Callout.tsx';
import type { Action } from '../components/Menu.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { usePreferences } from '../layout/preferences.ts';
import { useLocale } from '../texts/texts.tsx';
import type { Group } from './groups.ts';
import type { useSidebarList } from './lists.ts';
import { Row } from './Row.tsx';

/** While `enabled`, calls `onVisible` when the element is near the visible part. `onVisible` must be stable. */
function useOnVisible(enabled: boolean, onVisible: () => unknown) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const shown = element.current;
    if (shown === null || !enabled) return;
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && onVisible(),
      { root: shown.closest('.list'), rootMargin: '300px' },
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, [enabled, onVisible]);
  return element;
}

/** Moves the focus between rows. */
export function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const target = event.target as HTMLElement;
  if (step === undefined || !target.matches('.row')) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('.row')];
  event.preventDefault();
  rows[rows.indexOf(target) + step]?.focus();
}

interface GroupsProps {
  readonly list: ReturnType<typeof useSidebarList>['list'];
  readonly groups: readonly Group[];
  readonly open: readonly string[];
  readonly activeId: string | undefined;
  readonly minute: number;
  readonly empty: string;
  readonly onOpen: (id: string) => void;
  readonly actionsOf: (info: ConversationInfo) => readonly Action[];
}

export function ConversationGroups(props: GroupsProps) {
  const { list, groups, open, activeId, minute, empty, onOpen, actionsOf } = props;
  const { texts } = useLocale();
  const { grouping } = usePreferences();
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = list;
  // After an error the user has to click.
  const end = useOnVisible(hasNextPage && !isFetching && !isFetchNextPageError, fetchNextPage);
  const currentOf = useMemo(
    () => (id: string) => (id === activeId ? 'page' : open.includes(id) ? 'true' : undefined),
    [open, activeId],
  );
  if (list.isPending) return <Loading>{texts.shell.loading}</Loading>;
  return (
    <>
      <ErrorCallout
        error={list.error}
        onRetry={() => void (isFetchNextPageError ? fetchNextPage() : list.refetch())}
      />
      {groups.length === 0 && !hasNextPage && list.error === null ? (
        <p className="nothing muted">{empty}</p>
      ) : null}
      {groups.map(({ key, label, conversations }) => (
        <section key={key} className="conversation-group" aria-label={visibleLine(label)}>
          <h2>{visibleLine(label)}</h2>
          <ul className={list.isPlaceholderData ? 'rows outdated' : 'rows'}>
            {conversations.map((info) => (
              <Row
                key={info.conversation_id}
                info={info}
                current={currentOf(info.conversation_id)}
                withRepository={grouping === 'day' || label !== info.selected_repository}
                minute={minute}
                onOpen={onOpen}
                actionsOf={actionsOf}
              />
            ))}
          </ul>
        </section>
      ))}
      {hasNextPage ? (
        <button
          ref={end}
          type="button"
          className="button plain more-rows"
          onClick={() => void fetchNextPage()}
        >
          {isFetching ? <span className="spinner" /> : null}
          {texts.home.showMore}
        </button>
      ) : null}
    </>
  );
}
