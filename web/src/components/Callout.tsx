// Callouts for errors, warnings and hints, and the loading indicator.
import type { ReactNode } from 'react';
import { errorText } from '../texts/errors.ts';
import { useTexts } from '../texts/texts.tsx';
import { Icon, type IconName } from './Icon.tsx';

type Kind = 'error' | 'warning' | 'info';

const icons: Readonly<Record<Kind, IconName>> = { error: 'alert', warning: 'alert', info: 'info' };

export function Callout({ kind, children }: { readonly kind: Kind; readonly children: ReactNode }) {
  return (
    <div className={`callout ${kind}`} role={kind === 'error' ? 'alert' : undefined}>
      <Icon name={icons[kind]} />
      <div>{children}</div>
    </div>
  );
}

interface ErrorProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Adds that the text in the form is kept. */
  readonly kept?: boolean;
  readonly onClose?: () => void;
}

/** Renders nothing without an error. */
export function ErrorCallout({ error, onRetry, kept = false, onClose }: ErrorProps) {
  const texts = useTexts();
  if (error === null || error === undefined) return null;
  return (
    <Callout kind="error">
      {errorText(error, texts)} {kept ? texts.shell.inputKept : null}
      {onRetry === undefined ? null : (
        <button type="button" className="link-button" onClick={onRetry}>
          {texts.shell.tryAgain}
        </button>
      )}
      {onClose === undefined ? null : (
        <button type="button" className="link-button" onClick={onClose}>
          {texts.shell.close}
        </button>
      )}
    </Callout>
  );
}

export function Loading({ children }: { readonly children: ReactNode }) {
  return (
    <p className="empty" role="status">
      <span className="spinner" />
      <span>{children}</span>
    </p>
  );
}
