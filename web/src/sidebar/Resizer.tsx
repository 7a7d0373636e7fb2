// The edge of the sidebar, which changes its width by pointer or arrow keys. The browser remembers the width.
import { type KeyboardEvent, type PointerEvent, useEffect, useState } from 'react';
import { setPreferences, usePreferences } from '../layout/preferences.ts';
import { useTexts } from '../texts/texts.tsx';

const widthPxMin = 208;
const widthPxMax = 480;
const stepPx = 16;

const limited = (px: number) => Math.round(Math.min(widthPxMax, Math.max(widthPxMin, px)));

/** The width as a custom property of the page, because the layout needs it in several places. */
export function useSidebarWidth(): void {
  const { sidebarPx } = usePreferences();
  useEffect(() => {
    document.documentElement.style.setProperty('--sidebar-width', `${limited(sidebarPx)}px`);
  }, [sidebarPx]);
}

export function Resizer() {
  const { sidebar } = useTexts();
  const { sidebarPx } = usePreferences();
  const [dragging, setDragging] = useState(false);
  const resize = (px: number) => setPreferences({ sidebarPx: limited(px) });

  function onPointerDown(event: PointerEvent<HTMLElement>) {
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowLeft: -stepPx, ArrowRight: stepPx }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    resize(sidebarPx + step);
  }

  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that can be moved has no element of its own
    <div
      className={dragging ? 'resizer dragging' : 'resizer'}
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={sidebar.width}
      aria-valuenow={limited(sidebarPx)}
      aria-valuemin={widthPxMin}
      aria-valuemax={widthPxMax}
      onPointerDown={onPointerDown}
      onPointerMove={(event) => dragging && resize(event.clientX)}
      onPointerUp={() => setDragging(false)}
      onPointerCancel={() => setDragging(false)}
      onKeyDown={onKeyDown}
    />
  );
}
