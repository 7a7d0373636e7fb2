// The form for the next message to the agent. Unsent text is kept as a draft.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useMemo, useRef } from 'react';
import { randomText } from '../../../../src/client/conversations.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import type { PickedImage } from '../../components/images.ts';
import { MessageBox } from '../../components/MessageBox.tsx';
import { SendRow } from '../../components/SendRow.tsx';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { useClearNetworkErrors } from '../../live/networkErrors.ts';
import { useDraft } from '../../session/drafts.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { Attachments, FailedUploads } from './Attachments.tsx';
import { type AttachedFile, useUploads } from './attachments.ts';

interface Draft {
  readonly text: string;
  readonly images: readonly PickedImage[];
  readonly files: readonly AttachedFile[];
}

const empty: Draft = { text: '', images: [], files: [] };

function isSame(a: Draft, b: Draft): boolean {
  return a.text === b.text && a.images === b.images && a.files === b.files;
}

/** An upload that was repeated has the same path. */
function withFile(files: readonly AttachedFile[], file: AttachedFile): readonly AttachedFile[] {
  return [...files.filter(({ path }) => path !== file.path), file];
}

export function MessageForm({
  id,
  stopped,
  onSent,
  choice,
}: {
  readonly id: string;
  readonly stopped: boolean;
  readonly onSent: () => void;
  /** Shows the agent and the model. */
  readonly choice: ReactNode;
}) {
  const { conversation } = useTexts();
  const parley = useParley();
  const box = useRef<HTMLTextAreaElement>(null);
  const { draft, newest, change, clear } = useDraft<Draft>(`conversation.${id}`, empty, {
    large: ['images'],
  });
  /** The attempt that may have arrived although it failed. */
  const lastAttempt = useRef<{ readonly draft: Draft; readonly idempotencyKey: string }>(undefined);
  /** The same draft has the same key, so that sending it again after an error adds one message. */
  const keyOf = (sent: Draft): string => {
    const last = lastAttempt.current;
    if (last !== undefined && isSame(last.draft, sent)) return last.idempotencyKey;
    const idempotencyKey = randomText();
    lastAttempt.current = { draft: sent, idempotencyKey };
    return idempotencyKey;
  };
  const send = useMutation({
    mutationFn: ({ text, images, files }: Draft) =>
      parley.conversations.message(
        id,
        {
          message: text,
          ...(images.length === 0 ? {} : { image_urls: images.map(({ url }) => url) }),
          ...(files.length === 0 ? {} : { file_urls: files.map(({ path }) => path) }),
        },
        { idempotencyKey: keyOf({ text, images, files }) },
      ),
    onSuccess: (_, sent) => {
      lastAttempt.current = undefined;
      // Text that was typed during the request has not been sent.
      if (isSame(newest(), sent)) clear();
      onSent();
    },
  });
  useClearNetworkErrors(send);
  useShortcuts(useMemo(() => ({ write: () => box.current?.focus() }), []));
  const uploads = useUploads({
    id,
    onUploaded: (file) => change(({ files }) => ({ files: withFile(files, file) })),
  });
  const isUploading = uploads.running.length > 0;
  const hasContent = draft.text.trim() !== '' || draft.images.length + draft.files.length > 0;
  const ready = hasContent && !isUploading;
  const submit = () => ready && !send.isPending && send.mutate(draft);

  return (
    <form
      className="message-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <ErrorCallout error={send.error} kept />
      <FailedUploads failed={uploads.failed} onClose={uploads.closeFailed} />
      <MessageBox
        label={conversation.message}
        placeholder={stopped ? conversation.placeholderStopped : conversation.placeholder}
        rows={1}
        box={box}
        text={draft.text}
        images={draft.images}
        onText={(text) => change({ text })}
        onImages={(added) => change((newest) => ({ images: added(newest.images) }))}
        onFiles={uploads.upload}
        attachments={
          <Attachments
            files={draft.files}
            running={uploads.running}
            onRemove={(file) =>
              change(({ files }) => ({ files: files.filter(({ path }) => path !== file.path) }))
            }
          />
        }
        onSend={submit}
      >
        {choice}
        <SendRow
          label={send.isPending ? conversation.sending : conversation.send}
          disabled={!ready || send.isPending}
        />
      </MessageBox>
    </form>
  );
}
