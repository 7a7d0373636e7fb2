// Tracks whether the user has had a whole approval request on the screen. An agent could hide a command below the
// visible part, so that a request cannot be approved before.
import { useCallback, useEffect, useRef } from 'react';
import { useItemFlag } from '../content/itemFlags.ts';
import { addRange, firstGap, type Range } from './viewedRanges.ts';

/** Dispatched before a scroll that the user has asked for, so that the timeline does not scroll back. */
export const userScrollEvent = 'parley-user-scroll';
const marginPx = 16;

interface Viewed {
  ranges: readonly Range[];
  height: number;
}

/** Measures the visible part of the request, which reaches from the top of the tool call to its approval buttons. */
function measure(approval: HTMLElement) {
  const call = approval.closest('.call');
  const scroller = approval.closest('.scroller');
  if (call === null || scroller === null) return undefined;
  const { top } = call.getBoundingClientRect();
  const viewport = scroller.getBoundingClientRect();
  const height = approval.getBoundingClientRect().top - top;
  const visible = {
    from: Math.max(0, viewport.top - top),
    to: Math.min(height, Math.min(viewport.bottom, innerHeight) - top),
  };
  return { scroller, offset: top - viewport.top, height, visible };
}

/** Attach `approval` to the element with the approval buttons. The result is kept as long as the timeline. */
export function useFullyViewed(event: number) {
  const approval = useRef<HTMLFieldSetElement>(null);
  const viewed = useRef<Viewed>({ ranges: [], height: 0 });
  const [isFullyViewed, setFullyViewed] = useItemFlag(`viewed ${event}`);
  const onFullyViewed = useRef(setFullyViewed);
  onFullyViewed.current = setFullyViewed;

  useEffect(() => {
    const scroller = approval.current?.closest('.scroller');
    if (isFullyViewed || approval.current === null || scroller == null) return;
    let frame = 0;
    const update = () => {
      frame = 0;
      const now = approval.current === null ? undefined : measure(approval.current);
      if (now === undefined || document.visibilityState !== 'visible') return;
      // After a change of the layout, the same distance from the top is another part of the text.
      if (now.height !== viewed.current.height) viewed.current = { ranges: [], height: now.height };
      viewed.current.ranges = addRange(viewed.current.ranges, now.visible);
      if (firstGap(viewed.current.ranges, now.height) === undefined) onFullyViewed.current(true);
    };
    // Only positions that are painted count, not those that scripts set before.
    const updateOnNextFrame = () => {
      if (frame === 0) frame = requestAnimationFrame(update);
    };
    updateOnNextFrame();
    const observer = new ResizeObserver(updateOnNextFrame);
    for (const element of [scroller, approval.current.closest('.call')])
      if (element !== null) observer.observe(element);
    scroller.addEventListener('scroll', updateOnNextFrame, { passive: true });
    addEventListener('focus', updateOnNextFrame);
    document.addEventListener('visibilitychange', updateOnNextFrame);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      scroller.removeEventListener('scroll', updateOnNextFrame);
      removeEventListener('focus', updateOnNextFrame);
      document.removeEventListener('visibilitychange', updateOnNextFrame);
    };
  }, [isFullyViewed]);

  const scrollToUnviewed = useCallback(() => {
    const now = approval.current === null ? undefined : measure(approval.current);
    if (now === undefined) return;
    now.scroller.dispatchEvent(new Event(userScrollEvent));
    now.scroller.scrollTop += now.offset + (firstGap(viewed.current.ranges, now.height) ?? 0) - marginPx;
  }, []);

  return { approval, isFullyViewed, scrollToUnviewed };
}
