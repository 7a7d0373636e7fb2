// Text in lines that may be longer than the screen: it scrolls by itself, by keys, too.
import type { ReactNode } from 'react';

interface ScrollableProps {
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Scrollable({ label, className, children }: ScrollableProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no part of a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <pre tabIndex={0} role="group" aria-label={label} className={className}>
      {children}
    </pre>
  );
}
