// Keeps a growing list scrolled to its end, unless the user has scrolled up. A new approval request is shown from its
// top instead, until the user scrolls.
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { userScrollEvent } from '../approval/fullyViewed.ts';

/** The list counts as at its end if it is this close. */
const endTolerancePx = 48;
const gapAboveRequestPx = 12;
/** Events that come before a scroll by the user. Scrolls by script cause none of them. */
const userEvents = ['wheel', 'touchmove', 'pointerdown', 'keydown', 'focusin', userScrollEvent] as const;

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight <= endTolerancePx;
}

/** Returns the scroll position of the open approval request, or undefined if it is not rendered. */
function positionOfRequest(scroller: HTMLElement): number | undefined {
  const request = scroller.querySelector('.call.needs-approval');
  if (request === null) return undefined;
  const { top } = request.getBoundingClientRect();
  return scroller.scrollTop + top - scroller.getBoundingClientRect().top - gapAboveRequestPx;
}

/**
 * Must run on every render of the list. `pendingEvent` is the event of the open approval request, whose top stays
 * visible until the user scrolls. `scrollToEnd` scrolls to the end, and sticks to it again.
 */
export function useStickToEnd(scroller: RefObject<HTMLElement | null>, pendingEvent: number | undefined) {
  const [atEnd, setAtEnd] = useState(true);
  const isSticky = useRef(true);
  const lastTop = useRef(0);
  const lastPendingEvent = useRef<number>(undefined);
  /** Whether the list stops at the top of the approval request. */
  const isHeldAtRequest = useRef(false);
  if (lastPendingEvent.current !== pendingEvent) {
    lastPendingEvent.current = pendingEvent;
    isHeldAtRequest.current = pendingEvent !== undefined;
  }

  const stick = useCallback(() => {
    const element = scroller.current;
    if (element === null || !isSticky.current) return;
    const end = element.scrollHeight - element.clientHeight;
    element.scrollTop = Math.min(
      end,
      (isHeldAtRequest.current ? positionOfRequest(element) : undefined) ?? end,
    );
    // The scroll event of this change must not count as scrolling up.
    lastTop.current = element.scrollTop;
    setAtEnd(isNearEnd(element) || !isHeldAtRequest.current);
  }, [scroller]);

  useLayoutEffect(stick);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = () => {
      const { scrollTop } = element;
      const isNear = isNearEnd(element);
      // The end also moves away when the list grows; only scrolling up means that the user wants to stay.
      if (isNear) isSticky.current = true;
      else if (scrollTop < lastTop.current) isSticky.current = false;
      lastTop.current = scrollTop;
      setAtEnd(isSticky.current && (isNear || !isHeldAtRequest.current));
    };
    const stickIfNearEnd = () => {
      isSticky.current = isNearEnd(element);
      setAtEnd(isSticky.current);
    };
    const onUserEvent = ({ target, type }: Event) => {
      if (!isHeldAtRequest.current || !isSticky.current || (type === 'focusin' && target === element)) return;
      isHeldAtRequest.current = false;
      stickIfNearEnd();
    };
    // An item that the user expands or collapses must not move. The resize that follows decides whether to stick again.
    let isExpanding = false;
    const onClick = ({ target }: MouseEvent) => {
      if (!(target instanceof Element) || target.closest('.expand-button, .group-head, summary') === null)
        return;
      isExpanding = true;
      isSticky.current = false;
    };
    const onResize = () => {
      if (isExpanding) stickIfNearEnd();
      isExpanding = false;
      stick();
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(element);
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
    // Capture runs before the handler of the virtual list, which renders again.
    element.addEventListener('scroll', onScroll, { passive: true, capture: true });
    element.addEventListener('click', onClick, { capture: true });
    for (const type of userEvents) element.addEventListener(type, onUserEvent, { passive: true });
    return () => {
      observer.disconnect();
      for (const type of userEvents) element.removeEventListener(type, onUserEvent);
      element.removeEventListener('click', onClick, { capture: true });
      element.removeEventListener('scroll', onScroll, { capture: true });
    };
  }, [scroller, stick]);

  const scrollToEnd = useCallback(() => {
    // If the list is held at the request, the user wants to see what is below it.
    if (isSticky.current) isHeldAtRequest.current = false;
    isSticky.current = true;
    setAtEnd(true);
    stick();
  }, [stick]);

  /** Before a scroll to another place. */
  const leaveEnd = useCallback(() => {
    isHeldAtRequest.current = false;
    isSticky.current = false;
    setAtEnd(false);
  }, []);

  return { atEnd, scrollToEnd, leaveEnd };
}
