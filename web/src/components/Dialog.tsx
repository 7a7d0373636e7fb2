// A modal dialog, based on the dialog element: the browser keeps the focus inside, and Escape closes it.
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { IconButton } from './IconButton.tsx';

interface DialogProps {
  readonly title: string;
  readonly wide?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** The buttons below the content. */
  readonly footer?: ReactNode;
}

export function Dialog({ title, wide = false, onClose, children, footer }: DialogProps) {
  const { shell } = useTexts();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <IconButton icon="close" label={shell.close} onClick={onClose} />
      </header>
      {children}
      {footer === undefined ? null : <footer>{footer}</footer>}
    </dialog>
  );
}
