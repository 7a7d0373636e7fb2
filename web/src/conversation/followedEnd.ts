// Whether a list that grows is kept at its end: until somebody scrolls up, and again once they come back.
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';

/** So near to the end counts as there. */
const endPx = 48;

function distanceFromEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number {
  return scrollHeight - scrollTop - clientHeight;
}

/** Call it after each change of the list. `toEnd` goes there, and stays. */
export function useFollowedEnd(scroller: RefObject<HTMLElement | null>) {
  const [atEnd, setAtEnd] = useState(true);
  const following = useRef(true);
  const lastTop = useRef(0);

  const pin = useCallback(() => {
    const element = scroller.current;
    if (element !== null && following.current) element.scrollTop = element.scrollHeight;
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
    return () => {
      observer.disconnect();
      element.removeEventListener('click', onClick, { capture: true });
      element.removeEventListener('scroll', onScroll, { capture: true });
    };
  }, [scroller, pin]);

  const toEnd = useCallback(() => {
    following.current = true;
    setAtEnd(true);
    pin();
  }, [pin]);

  return { atEnd, toEnd };
}
