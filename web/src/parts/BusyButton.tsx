// A button that tells that its work is under way. It is not disabled meanwhile, for then it would lose the focus.
import type { ReactNode } from 'react';

interface BusyButtonProps {
  readonly type?: 'button' | 'submit';
  /** Beside `button`. */
  readonly look?: 'primary' | 'danger';
  readonly busy: boolean;
  /** In place of what it says otherwise. */
  readonly busyText?: string;
  readonly onClick?: () => void;
  readonly children: ReactNode;
}

/** Presses while it is busy do nothing. */
export function BusyButton({ type = 'button', look, busy, busyText, onClick, children }: BusyButtonProps) {
  return (
    <button
      type={type}
      className={look === undefined ? 'button' : `button ${look}`}
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
