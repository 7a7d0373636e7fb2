// A dialog that asks for confirmation before something is deleted.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { BusyButton } from './BusyButton.tsx';
import { ErrorCallout } from './Callout.tsx';
import { Dialog } from './Dialog.tsx';
import { useFocusHeadingOnUnmount } from './focus.ts';

interface ConfirmProps {
  readonly title: string;
  /** The name of what is deleted. */
  readonly name?: string;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Stays open and shows the error if the action fails. */
export function ConfirmDialog({ title, name, action, onConfirm, onClose, children }: ConfirmProps) {
  const { shell } = useTexts();
  const body = useRef<HTMLDivElement>(null);
  useFocusHeadingOnUnmount(body);
  const confirmation = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {shell.cancel}
          </button>
          <BusyButton variant="danger" busy={confirmation.isPending} onClick={() => confirmation.mutate()}>
            {action}
          </BusyButton>
        </>
      }
    >
      <div className="confirm" ref={body}>
        {name === undefined ? null : <strong>{name}</strong>}
        {children}
        <ErrorCallout error={confirmation.error} />
      </div>
    </Dialog>
  );
}
