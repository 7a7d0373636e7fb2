// Preformatted text that scrolls horizontally, by keyboard, too.
import type { ReactNode } from 'react';

interface ScrollableProps {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Scrollable({ label, className, children }: ScrollableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is not part of a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be focusable
    <pre tabIndex={0} role="group" aria-label={label} className={className}>
      {children}
    </pre>
  );
}
