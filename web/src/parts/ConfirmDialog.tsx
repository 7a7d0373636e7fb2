// The question before something is gone for good.
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorCallout } from '../parts/Callout.tsx';
import { Dialog } from '../parts/Dialog.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';

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
  const texts = useSettingsTexts();
  const doing = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button
            type="button"
            className="button danger"
            disabled={doing.isPending}
            onClick={() => doing.mutate()}
          >
            {action}
          </button>
        </>
      }
    >
      <div className="confirm">
        {name === undefined ? null : <strong>{name}</strong>}
        {children}
        <ErrorCallout error={doing.error} />
      </div>
    </Dialog>
  );
}
