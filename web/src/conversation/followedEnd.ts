// Whether a list that grows is kept at its end: until somebody scrolls up, and again once they come back. An approval
// request is shown from its head first.
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { scrolledOnPurpose } from './seenWhole.ts';

/** So near to the end counts as there. */
const endPx = 48;
/** Above the head of an approval request. */
const headGapPx = 12;
/** What people do who scroll. */
const scrolling = ['wheel', 'touchmove', 'pointerdown', 'keydown', 'focusin', scrolledOnPurpose] as const;

function distanceFromEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number {
  return scrollHeight - scrollTop - clientHeight;
}

/** Where the open approval request begins, unless it is not on the page. */
function headOf(element: HTMLElement): number | undefined {
  const request = element.querySelector('.call.asking');
  if (request === null) return undefined;
  const { top } = request.getBoundingClientRect();
  return element.scrollTop + top - element.getBoundingClientRect().top - headGapPx;
}

/**
 * Call it after each change of the list. `toEnd` goes there, and stays. `asked` is the event of the open approval
 * request: it is not scrolled past its head until somebody scrolls.
 */
export function useFollowedEnd(scroller: RefObject<HTMLElement | null>, asked: number | undefined) {
  const [atEnd, setAtEnd] = useState(true);
  const following = useRef(true);
  const lastTop = useRef(0);
  const lastAsked = useRef<number>(undefined);
  const isHeld = useRef(false);
  if (lastAsked.current !== asked) {
    lastAsked.current = asked;
    isHeld.current = asked !== undefined;
  }

  const pin = useCallback(() => {
    const element = scroller.current;
    if (element === null || !following.current) return;
    const end = element.scrollHeight - element.clientHeight;
    element.scrollTop = Math.min(end, (isHeld.current ? headOf(element) : undefined) ?? end);
    // Nobody has scrolled up where it was this.
    lastTop.current = element.scrollTop;
    setAtEnd(distanceFromEnd(element) <= endPx || !isHeld.current);
  }, [scroller]);

  useLayoutEffect(pin);

  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const onScroll = () => {
      const { scrollTop } = element;
      const near = distanceFromEnd(element) <= endPx;
      // A list that grows leaves the end behind, too; only who goes up wants to.
      if (near) following.current = true;
      else if (scrollTop < lastTop.current) following.current = false;
      lastTop.current = scrollTop;
      setAtEnd(following.current && (near || !isHeld.current));
    };
    const letGo = ({ target, type }: Event) => {
      if (!isHeld.current || !following.current || (type === 'focusin' && target === element)) return;
      isHeld.current = false;
      following.current = distanceFromEnd(element) <= endPx;
      setAtEnd(following.current);
    };
    // What somebody folds or unfolds stays where they see it; whether that is still the end is told afterwards.
    let unfolding = false;
    const onClick = ({ target }: MouseEvent) => {
      if (!(target instanceof Element) || target.closest('.fold, summary') === null) return;
      unfolding = true;
      following.current = false;
    };
    const onResize = () => {
      if (unfolding) {
        following.current = distanceFromEnd(element) <= endPx;
        setAtEnd(following.current);
      }
      unfolding = false;
      pin();
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(element);
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
    // Before the list looks at where it is, and is drawn anew.
    element.addEventListener('scroll', onScroll, { passive: true, capture: true });
    element.addEventListener('click', onClick, { capture: true });
    for (const type of scrolling) element.addEventListener(type, letGo, { passive: true });
    return () => {
      observer.disconnect();
      for (const type of scrolling) element.removeEventListener(type, letGo);
      element.removeEventListener('click', onClick, { capture: true });
      element.removeEventListener('scroll', onScroll, { capture: true });
    };
  }, [scroller, pin]);

  const toEnd = useCallback(() => {
    // Whoever is at the head of a request already wants to see its end.
    if (following.current) isHeld.current = false;
    following.current = true;
    setAtEnd(true);
    pin();
  }, [pin]);

  return { atEnd, toEnd };
}
