// A button that shows that its action is in progress. It is not disabled meanwhile: it would lose the focus.
import type { ReactNode } from 'react';

interface BusyButtonProps {
  readonly type?: 'button' | 'submit';
  readonly variant?: 'primary' | 'danger';
  readonly busy: boolean;
  /** Replaces the children while the button is busy. */
  readonly busyText?: string;
  readonly onClick?: () => void;
  readonly children: ReactNode;
}

/** Ignores clicks while it is busy. */
export function BusyButton({ type = 'button', variant, busy, busyText, onClick, children }: BusyButtonProps) {
  return (
    <button
      type={type}
      className={variant === undefined ? 'button' : `button ${variant}`}
      aria-disabled={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.();
      }}
    >
      {busy && busyText !== undefined ? busyText : children}
    </button>
  );
}
