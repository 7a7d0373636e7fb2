// The dialogs that the menu of a row opens.
import { DeleteDialog, RenameDialog } from '../conversation/header/Dialogs.tsx';
import type { OpenDialog } from './rowActions.ts';

interface ConversationDialogProps {
  readonly dialog: OpenDialog | undefined;
  readonly onClose: () => void;
}

export function ConversationDialog({ dialog, onClose }: ConversationDialogProps) {
  if (dialog === undefined) return null;
  const Kind = { rename: RenameDialog, delete: DeleteDialog }[dialog.kind];
  return <Kind info={dialog.info} onClose={onClose} />;
}
