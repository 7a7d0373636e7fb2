// The dialogs that rename and delete a conversation.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { Dialog } from '../../components/Dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { infoKey, listKey } from '../../live/conversationLists.ts';
import { usePanes } from '../../panes/panes.ts';
import { useParley, useSession } from '../../session/session.tsx';
import { fieldErrorAt } from '../../texts/errors.ts';
import { useTexts } from '../../texts/texts.tsx';
import { streamName } from '../conversationQueries.ts';

interface DialogProps {
  readonly info: ConversationInfo;
  readonly onClose: () => void;
}

export function RenameDialog({ info, onClose }: DialogProps) {
  const { conversation, shell } = useTexts();
  const parley = useParley();
  const queries = useQueryClient();
  const [title, setTitle] = useState(info.title);
  const id = info.conversation_id;
  const rename = useMutation({
    mutationFn: () => parley.conversations.rename(id, title),
    onSuccess: () => {
      queries.setQueryData(infoKey(id), { ...info, title: title.trim() });
      void queries.invalidateQueries({ queryKey: listKey });
      onClose();
    },
  });
  const fieldError = fieldErrorAt(rename.error, 'title');
  const form = useRef<HTMLFormElement>(null);
  // Runs after the dialog has opened, which focuses its first button.
  useEffect(() => {
    const field = form.current?.querySelector('input');
    field?.focus();
    field?.select();
  }, []);
  return (
    <Dialog
      title={conversation.renameTitle}
      onClose={onClose}
      footer={
        <>
          <button type="button" className="button" onClick={onClose}>
            {shell.cancel}
          </button>
          <button
            type="submit"
            form="rename"
            className="button primary"
            disabled={rename.isPending || title.trim() === ''}
          >
            {conversation.save}
          </button>
        </>
      }
    >
      <form
        id="rename"
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!rename.isPending) rename.mutate();
        }}
      >
        <TextField label={conversation.name} value={title} onChange={setTitle} error={fieldError} />
        {fieldError === undefined ? <ErrorCallout error={rename.error} /> : null}
      </form>
    </Dialog>
  );
}

export function DeleteDialog({ info, onClose }: DialogProps) {
  const { conversation } = useTexts();
  const { parley, connection } = useSession();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const panes = usePanes();
  const id = info.conversation_id;

  async function remove() {
    await parley.conversations.delete(id);
    if (panes.ids.includes(id)) {
      connection.expectEnd(streamName(id));
      if (panes.ids.length > 1) panes.close(id);
      else go('/', { replace: true, state: { deleted: info.title } });
    }
    queries.removeQueries({ queryKey: infoKey(id) });
    void queries.invalidateQueries({ queryKey: listKey });
  }

  return (
    <ConfirmDialog
      title={conversation.deleteTitle}
      name={visibleLine(info.title)}
      action={conversation.delete}
      onConfirm={remove}
      onClose={onClose}
    >
      <p className="muted">{conversation.deleteText}</p>
    </ConfirmDialog>
  );
}
