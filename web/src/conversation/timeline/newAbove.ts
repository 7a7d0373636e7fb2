// Finds out whether what is new begins above the visible part of the timeline, where the user would miss it.
import { type RefObject, useCallback, useEffect, useState } from 'react';
import type { Away } from './rows.ts';

/** New rows are measured and scrolled within this time. */
const settleMs = 300;

function isDividerVisible(scroller: HTMLElement): boolean {
  const divider = scroller.querySelector('.away')?.getBoundingClientRect();
  const view = scroller.getBoundingClientRect();
  return divider !== undefined && divider.bottom > view.top && divider.top < view.bottom;
}

/** Must run on every render of the list. It is false again once the user has seen the divider, or calls `dismiss`. */
export function useNewAbove(
  scroller: RefObject<HTMLElement | null>,
  away: Away | undefined,
  hasDivider: boolean,
) {
  const [above, setAbove] = useState<Away>();
  const [viewed, setViewed] = useState<Away>();
  const isOpen = away !== undefined && hasDivider && viewed !== away;

  useEffect(() => {
    if (!isOpen) return;
    const timer = setTimeout(() => {
      if (scroller.current === null) return;
      if (isDividerVisible(scroller.current)) setViewed(away);
      else setAbove(away);
    }, settleMs);
    return () => clearTimeout(timer);
  });

  const dismiss = useCallback(() => setViewed(away), [away]);
  return { isNewAbove: isOpen && above === away, dismiss };
}
