// The timeline: a virtual list that stays at its end unless the user has scrolled up.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { Icon } from '../../components/Icon.tsx';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { ItemId } from '../content/itemFlags.ts';
import { type Item, keyOf } from '../items.ts';
import { ItemView } from './ItemView.tsx';
import { useStickToEnd } from './stickToEnd.ts';

/** Estimates for items that have not been rendered yet. */
const estimatedHeights: Readonly<Record<Item['kind'], number>> = {
  message: 90,
  thought: 40,
  call: 96,
  plan: 140,
  notice: 48,
  error: 56,
  stopped: 48,
};
const gapPx = 10;
/** How much of the visible height Page Up and Page Down scroll. */
const pageFraction = 0.9;

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

interface TimelineProps {
  readonly items: readonly Item[];
  /** The event of the open approval request. */
  readonly pendingEvent: number | undefined;
  /** How many messages were sent from this screen. Each one scrolls to the end, where it appears. */
  readonly sentCount: number;
}

export function TimelineView({ items, pendingEvent, sentCount }: TimelineProps) {
  const { conversation } = useTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const countAtEnd = useRef(items.length);

  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimatedHeights[items[index]?.kind ?? 'notice'],
    getItemKey: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item);
    },
    overscan: 8,
    gap: gapPx,
    paddingStart: 16,
    paddingEnd: 16,
  });

  const { atEnd, scrollToEnd } = useStickToEnd(scroller, pendingEvent);
  useShortcuts(useMemo(() => ({ end: scrollToEnd }), [scrollToEnd]));
  useEffect(() => {
    if (sentCount > 0) scrollToEnd();
  }, [sentCount, scrollToEnd]);

  if (atEnd) countAtEnd.current = items.length;
  const hasNew = items.length > countAtEnd.current;

  return (
    <div className="timeline">
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
            const item = items[index];
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                className="timeline-item"
                style={{ transform: `translateY(${start}px)` }}
              >
                {item === undefined ? null : (
                  <ItemId value={keyOf(item)}>
                    <ItemView item={item} />
                  </ItemId>
                )}
              </div>
            );
          })}
        </div>
      </div>
      {atEnd ? null : (
        <button
          type="button"
          className={hasNew ? 'button primary jump-to-latest' : 'button jump-to-latest'}
          onClick={scrollToEnd}
        >
          <Icon name="arrowDown" />
          {hasNew ? conversation.newMessages : conversation.jumpToLatest}
        </button>
      )}
    </div>
  );
}
