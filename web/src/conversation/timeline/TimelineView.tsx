// The timeline: a virtual list that stays at its end unless the user has scrolled up.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { Item } from '../items.ts';
import { SearchBar } from '../search/SearchBar.tsx';
import { useSearchKey } from '../search/useSearchKey.ts';
import { useLinkedEvent } from './eventLinks.ts';
import { useNewAbove } from './newAbove.ts';
import { RowView } from './RowView.tsx';
import { type Away, createRows, type Row } from './rows.ts';
import { useStickToEnd } from './stickToEnd.ts';
import { useJump } from './useJump.ts';

/** Estimates for rows that have not been rendered yet. */
const estimatedHeights: Readonly<Record<Item['kind'] | Exclude<Row['kind'], 'item'>, number>> = {
  message: 90,
  thought: 40,
  call: 96,
  plan: 140,
  notice: 48,
  error: 56,
  stopped: 48,
  group: 32,
  away: 40,
};
const gapPx = 10;
/** How much of the visible height Page Up and Page Down scroll. */
const pageFraction = 0.9;

function estimate(row: Row | undefined): number {
  return estimatedHeights[row === undefined ? 'notice' : row.kind === 'item' ? row.item.kind : row.kind];
}

/** Scrolls without animation, which measuring new items would interrupt. */
function scrollByKey(event: KeyboardEvent<HTMLElement>, scrollToEnd: () => void): void {
  const element = event.currentTarget;
  if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = element.clientHeight * pageFraction;
  if (event.key === 'Home') element.scrollTop = 0;
  else if (event.key === 'End') scrollToEnd();
  else if (event.key === 'PageUp') element.scrollTop -= page;
  else if (event.key === 'PageDown') element.scrollTop += page;
  else return;
  event.preventDefault();
}

/** The ids of open groups, and a stable function that opens or folds one. */
function useOpenGroups() {
  const [openGroups, setOpenGroups] = useState<ReadonlySet<number>>(() => new Set());
  const toggle = useCallback((id: number) => {
    setOpenGroups((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }, []);
  return { openGroups, toggle };
}

interface TimelineProps {
  readonly conversationId: string;
  readonly items: readonly Item[];
  /** What the user has not seen before. */
  readonly away: Away | undefined;
  /** The event of the open approval request. */
  readonly pendingEvent: number | undefined;
  /** How many messages were sent from this screen. Each one scrolls to the end, where it appears. */
  readonly sentCount: number;
}

export function TimelineView({ conversationId, items, away, pendingEvent, sentCount }: TimelineProps) {
  const { conversation, timeline, search } = useTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const countAtEnd = useRef(items.length);
  const [computeRows] = useState(createRows);
  const { openGroups, toggle } = useOpenGroups();
  const rowOptions = useMemo(() => ({ openGroups, away }), [openGroups, away]);
  const rows = computeRows(items, rowOptions);

  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimate(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    gap: gapPx,
    paddingStart: 16,
    paddingEnd: 16,
  });

  const { atEnd, scrollToEnd, leaveEnd } = useStickToEnd(scroller, pendingEvent);
  useShortcuts(useMemo(() => ({ end: scrollToEnd }), [scrollToEnd]));
  useEffect(() => {
    if (sentCount > 0) scrollToEnd();
  }, [sentCount, scrollToEnd]);

  const { jump, shownItem } = useJump({ items, rows, list, leaveEnd, openGroup: toggle });
  const [isSearching, setIsSearching] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useSearchKey(
    element,
    useCallback(() => setIsSearching(true), []),
  );
  const linked = useLinkedEvent(conversationId);
  useEffect(() => {
    if (linked !== undefined) jump(linked);
  }, [linked, jump]);

  if (atEnd) countAtEnd.current = items.length;
  const newCount = Math.max(0, items.length - countAtEnd.current);

  const dividerAt = useMemo(() => rows.findIndex(({ kind }) => kind === 'away'), [rows]);
  const { isNewAbove, dismiss } = useNewAbove(scroller, away, dividerAt >= 0);

  return (
    <div className="timeline" ref={element}>
      <div
        ref={scroller}
        className="scroller"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be focusable
        tabIndex={0}
        role="log"
        aria-label={conversation.timeline}
        aria-live="off"
        onKeyDown={(event) => scrollByKey(event, scrollToEnd)}
      >
        <div className="track" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            const isTarget = row?.kind === 'item' && row.item.id === shownItem;
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                className={isTarget ? 'timeline-item target' : 'timeline-item'}
                style={{ transform: `translateY(${start}px)` }}
              >
                {row === undefined ? null : (
                  <RowView row={row} isRevealed={isTarget && isSearching} onToggle={toggle} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {isSearching ? (
        <SearchBar
          conversationId={conversationId}
          scroller={scroller}
          onShow={jump}
          onClose={() => {
            setIsSearching(false);
            scroller.current?.focus();
          }}
        />
      ) : (
        <IconButton
          icon="search"
          label={search.label}
          className="plain search-button"
          onClick={() => setIsSearching(true)}
        />
      )}
      {isNewAbove ? (
        <button
          type="button"
          className="button jump jump-to-new"
          onClick={() => {
            dismiss();
            leaveEnd();
            list.scrollToIndex(dividerAt, { align: 'start' });
          }}
        >
          <Icon name="arrowUp" />
          {timeline.jumpToNew}
        </button>
      ) : null}
      {atEnd ? null : (
        <button
          type="button"
          className={newCount > 0 ? 'button primary jump jump-to-latest' : 'button jump jump-to-latest'}
          onClick={scrollToEnd}
        >
          <Icon name="arrowDown" />
          {timeline.jumpToLatest}
          {newCount > 0 ? <span className="jump-count">{timeline.newItems(newCount)}</span> : null}
        </button>
      )}
    </div>
  );
}
