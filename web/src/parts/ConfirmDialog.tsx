// The question before something is gone for good.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { BusyButton } from './BusyButton.tsx';
import { ErrorCallout } from './Callout.tsx';
import { Dialog } from './Dialog.tsx';
import { useFocusAfter } from './focus.ts';

interface ConfirmProps {
  readonly title: string;
  /** Which one it is. */
  readonly name?: string;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Stays open where it fails, and says why. */
export function ConfirmDialog({ title, name, action, onConfirm, onClose, children }: ConfirmProps) {
  const { shell } = useTexts();
  const body = useRef<HTMLDivElement>(null);
  useFocusAfter(body);
  const doing = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {shell.cancel}
          </button>
          <BusyButton look="danger" busy={doing.isPending} onClick={() => doing.mutate()}>
            {action}
          </BusyButton>
        </>
      }
    >
      <div className="confirm" ref={body}>
        {name === undefined ? null : <strong>{name}</strong>}
        {children}
        <ErrorCallout error={doing.error} />
      </div>
    </Dialog>
  );
}
