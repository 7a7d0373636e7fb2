// The box below the timeline: what is said next to the agent. What is not sent yet is kept.
import { useMutation } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { ErrorCallout } from '../parts/Callout.tsx';
import { Icon } from '../parts/Icon.tsx';
import type { PickedImage } from '../parts/images.ts';
import { MessageBox } from '../parts/MessageBox.tsx';
import { useDraft } from '../session/drafts.ts';
import { useParley } from '../session/session.tsx';
import { sendKeys } from '../shell/HelpDialog.tsx';
import { useShortcuts } from '../shell/shortcuts.ts';
import { useTexts } from '../texts/texts.tsx';

interface Draft {
  readonly text: string;
  readonly images: readonly PickedImage[];
}

const empty: Draft = { text: '', images: [] };

export function Writer({
  id,
  stopped,
  onSent,
}: {
  readonly id: string;
  readonly stopped: boolean;
  readonly onSent: () => void;
}) {
  const { conversation, home } = useTexts();
  const parley = useParley();
  const box = useRef<HTMLTextAreaElement>(null);
  const { draft, change, clear } = useDraft<Draft>(`conversation.${id}`, empty, ['images']);
  const send = useMutation({
    mutationFn: () =>
      parley.conversations.message(id, {
        message: draft.text,
        ...(draft.images.length === 0 ? {} : { image_urls: draft.images.map(({ url }) => url) }),
      }),
    onSuccess: () => {
      clear();
      onSent();
    },
  });
  useShortcuts(useMemo(() => ({ write: () => box.current?.focus() }), []));
  const ready = draft.text.trim() !== '' || draft.images.length > 0;
  const submit = () => ready && !send.isPending && send.mutate();

  return (
    <form
      className="writer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <ErrorCallout error={send.error} kept />
      <MessageBox
        label={conversation.message}
        placeholder={stopped ? conversation.placeholderStopped : conversation.placeholder}
        rows={1}
        box={box}
        text={draft.text}
        images={draft.images}
        onText={(text) => change({ text })}
        onImages={(images) => change({ images })}
        onSend={submit}
      >
        <div className="end">
          <span className="quiet wide-only">
            <kbd>{sendKeys}</kbd> {home.sendHint}
          </span>
          <button type="submit" className="button primary" disabled={!ready || send.isPending}>
            <Icon name="send" />
            {send.isPending ? conversation.sending : conversation.send}
          </button>
        </div>
      </MessageBox>
    </form>
  );
}
