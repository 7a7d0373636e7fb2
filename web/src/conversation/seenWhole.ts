// Whether somebody has had the whole of an approval request on the screen. What was out of sight cannot be approved.
import { useCallback, useEffect, useRef } from 'react';
import { addSpan, firstGap, type Span } from './spans.ts';
import { useUnfolded } from './unfolded.ts';

/** Tells the timeline that it is scrolled on purpose. */
export const scrolledOnPurpose = 'parley-scrolled';
const marginPx = 16;

interface Seen {
  spans: readonly Span[];
  height: number;
}

/** The part of the request that is on the screen, from its head to the buttons. */
function measure(question: HTMLElement) {
  const request = question.closest('.call');
  const scroller = question.closest('.scroller');
  if (request === null || scroller === null) return undefined;
  const { top } = request.getBoundingClientRect();
  const view = scroller.getBoundingClientRect();
  const height = question.getBoundingClientRect().top - top;
  const visible = {
    from: Math.max(0, view.top - top),
    to: Math.min(height, Math.min(view.bottom, innerHeight) - top),
  };
  return { scroller, offset: top - view.top, height, visible };
}

/** `question` is the element that ends the request, within it. The answer is kept for as long as the timeline. */
export function useSeenWhole(event: number) {
  const question = useRef<HTMLFieldSetElement>(null);
  const seen = useRef<Seen>({ spans: [], height: 0 });
  const [isSeen, setSeen] = useUnfolded(`seen ${event}`);
  const newest = useRef(setSeen);
  newest.current = setSeen;

  useEffect(() => {
    const scroller = question.current?.closest('.scroller');
    if (isSeen || question.current === null || scroller == null) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      const now = question.current === null ? undefined : measure(question.current);
      if (now === undefined || document.visibilityState !== 'visible') return;
      // In another layout, the same distance from the head is another part of the text.
      if (now.height !== seen.current.height) seen.current = { spans: [], height: now.height };
      seen.current.spans = addSpan(seen.current.spans, now.visible);
      if (firstGap(seen.current.spans, now.height) === undefined) newest.current(true);
    };
    // Where it is drawn, not where it was put on the way there.
    const lookSoon = () => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    lookSoon();
    const observer = new ResizeObserver(lookSoon);
    for (const element of [scroller, question.current.closest('.call')])
      if (element !== null) observer.observe(element);
    scroller.addEventListener('scroll', lookSoon, { passive: true });
    addEventListener('focus', lookSoon);
    document.addEventListener('visibilitychange', lookSoon);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      scroller.removeEventListener('scroll', lookSoon);
      removeEventListener('focus', lookSoon);
      document.removeEventListener('visibilitychange', lookSoon);
    };
  }, [isSeen]);

  /** Scrolls to the first part that nobody has seen. */
  const showUnseen = useCallback(() => {
    const now = question.current === null ? undefined : measure(question.current);
    if (now === undefined) return;
    now.scroller.dispatchEvent(new Event(scrolledOnPurpose));
    now.scroller.scrollTop += now.offset + (firstGap(seen.current.spans, now.height) ?? 0) - marginPx;
  }, []);

  return { question, isSeen, showUnseen };
}
