// The timeline: a virtual list that stays at its end unless the user has scrolled up.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { Icon } from '../components/Icon.tsx';
import { useShortcuts } from '../layout/shortcuts.ts';
import { useTexts } from '../texts/texts.tsx';
import { useFollowedEnd } from './followedEnd.ts';
import { ItemView } from './ItemView.tsx';
import type { Item } from './items.ts';
import { ItemId } from './unfolded.ts';

/** Estimates for items that have not been rendered yet. */
const heights: Readonly<Record<Item['kind'], number>> = {
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
const pagePart = 0.9;

/** Scrolls without animation, which measuring new items would interrupt. */
function scrollByKey(event: KeyboardEvent<HTMLElement>, toEnd: () => void): void {
  const element = event.currentTarget;
  if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = element.clientHeight * pagePart;
  if (event.key === 'Home') element.scrollTop = 0;
  else if (event.key === 'End') toEnd();
  else if (event.key === 'PageUp') element.scrollTop -= page;
  else if (event.key === 'PageDown') element.scrollTop += page;
  else return;
  event.preventDefault();
}

interface TimelineProps {
  readonly items: readonly Item[];
  /** The event of the approval request that waits. */
  readonly asked: number | undefined;
  /** How much was sent from here: whoever sends something wants to see it. */
  readonly sent: number;
}

export function TimelineView({ items, asked, sent }: TimelineProps) {
  const { conversation } = useTexts();
  const scroller = useRef<HTMLDivElement>(null);
  const seen = useRef(items.length);

  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heights[items[index]?.kind ?? 'notice'],
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 8,
    gap: gapPx,
    paddingStart: 16,
    paddingEnd: 16,
  });

  const { atEnd, toEnd } = useFollowedEnd(scroller, asked);
  useShortcuts(useMemo(() => ({ end: toEnd }), [toEnd]));
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent, toEnd]);

  if (atEnd) seen.current = items.length;
  const hasNew = items.length > seen.current;

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
        onKeyDown={(event) => scrollByKey(event, toEnd)}
      >
        <div className="track" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ key, index, start }) => {
            const item = items[index];
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                className="place"
                style={{ transform: `translateY(${start}px)` }}
              >
                {item === undefined ? null : (
                  <ItemId value={item.id}>
                    <ItemView item={item} />
                  </ItemId>
                )}
              </div>
            );
          })}
        </div>
      </div>
      {atEnd ? null : (
        <button type="button" className={hasNew ? 'button primary to-end' : 'button to-end'} onClick={toEnd}>
          <Icon name="arrowDown" />
          {hasNew ? conversation.newBelow : conversation.toEnd}
        </button>
      )}
    </div>
  );
}
