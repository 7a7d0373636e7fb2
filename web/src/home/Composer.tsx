// Where a conversation begins: the message, and whatever it needs to know beside it.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { randomText } from '../../../src/client/conversations.ts';
import type { McpConfig } from '../../../src/client/parley.ts';
import { useFaultsPast } from '../live/faults.ts';
import { readListsAgain } from '../live/lists.ts';
import { ErrorCallout } from '../parts/Callout.tsx';
import { SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { Icon } from '../parts/Icon.tsx';
import { MessageBox } from '../parts/MessageBox.tsx';
import { SendRow } from '../parts/SendRow.tsx';
import { agentValue, useAgentChoices } from '../session/agents.ts';
import { type DraftChange, toPart, useDraft } from '../session/drafts.ts';
import { useParley } from '../session/session.tsx';
import { useSettings, useSettingsUpdate } from '../session/settings.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { useTexts } from '../texts/texts.tsx';
import {
  besideFields,
  checkDraft,
  type Draft,
  emptyDraft,
  type Faults,
  faultsOf,
  isFolded,
  someFolded,
  storableDraft,
  toRequest,
  unedited,
} from './newConversation.ts';

interface Creation {
  readonly draft: Draft;
  readonly mcp: McpConfig | null;
}

interface CreationOptions {
  readonly onCreated: (sent: Draft) => void;
  readonly onRefused: (error: unknown) => void;
}

/** What is sent is what was there when it was sent: somebody may go on typing, or go elsewhere. */
function useCreation({ onCreated, onRefused }: CreationOptions) {
  const parley = useParley();
  const queries = useQueryClient();
  const settings = useSettings().data;
  const update = useSettingsUpdate();
  return useMutation({
    mutationFn: async ({ draft, mcp }: Creation) => {
      const { agent, idempotencyKey } = draft;
      if (agent !== undefined && agent !== agentValue(settings?.agent ?? null))
        await update.mutateAsync({ agent: agent === '' ? null : agent });
      return parley.conversations.create(toRequest(draft, mcp), { idempotencyKey });
    },
    onSuccess: (_, { draft }) => {
      onCreated(draft);
      readListsAgain(queries);
    },
    onError: onRefused,
  });
}

interface FieldsProps {
  readonly draft: Draft;
  readonly edit: (part: Partial<Draft>) => void;
  readonly faults: Faults;
}

function MoreOptions({ draft, edit, faults }: FieldsProps) {
  const { home } = useTexts();
  const settings = useSettings().data;
  const agents = useAgentChoices();
  return (
    <div className="more">
      <SelectField
        label={home.agent}
        hint={home.agentHint}
        value={draft.agent ?? agentValue(settings?.agent ?? null)}
        options={agents}
        onChange={(agent) => edit({ agent })}
        fault={faults.agent}
      />
      <TextArea
        label={home.instructions}
        hint={home.instructionsHint}
        value={draft.instructions}
        onChange={(instructions) => edit({ instructions })}
        fault={faults.instructions}
      />
      <TextArea
        label={home.mcp}
        hint={home.mcpHint}
        mono
        value={draft.mcp}
        placeholder={'{"shttp_servers": [{"url": "https://…"}]}'}
        onChange={(mcp) => edit({ mcp })}
        fault={faults.mcp}
      />
    </div>
  );
}

function Where({ draft, edit, faults, onMore }: FieldsProps & { readonly onMore: () => void }) {
  const { home } = useTexts();
  return (
    <div className="where">
      <TextField
        label={home.repository}
        placeholder={home.repositoryHint}
        value={draft.repository}
        onChange={(repository) => edit({ repository })}
        fault={faults.repository}
      />
      <TextField
        label={home.branch}
        placeholder={home.branchHint}
        value={draft.branch}
        onChange={(branch) => edit({ branch })}
        fault={faults.branch}
      />
      <button type="button" className="button plain" aria-expanded={draft.open} onClick={onMore}>
        <Icon name="chevron" />
        {home.more}
      </button>
    </div>
  );
}

/** The draft, and the ways to change and to send it. */
function useComposer() {
  const { home } = useTexts();
  const [, go] = useLocation();
  const { draft, newest, change, clear } = useDraft<Draft>('home', emptyDraft, {
    large: ['images'],
    storable: storableDraft,
  });
  const [checked, setChecked] = useState<{ readonly draft: Draft; readonly faults: Faults }>();
  const creation = useCreation({
    onCreated: (sent) => newest().idempotencyKey === sent.idempotencyKey && clear(),
    onRefused: (error) => isFolded(error) && change({ open: true }),
  });
  useFaultsPast(creation);
  const ready = draft.message.trim() !== '' || draft.images.length > 0;
  const own = checked === undefined ? {} : unedited(checked.faults, checked.draft, draft);
  const faults = { ...faultsOf(creation.error, creation.variables?.draft, draft), ...own };

  function send() {
    if (!ready || creation.isPending) return;
    const { mcp, faults: found } = checkDraft(draft, home);
    const isWrong = Object.keys(found).length > 0;
    setChecked(isWrong ? { draft, faults: found } : undefined);
    if (someFolded(found)) change({ open: true });
    if (isWrong) return;
    // Not where somebody has left this screen meanwhile.
    const onSuccess = ({ conversation_id: id }: { readonly conversation_id: string }) =>
      go(`/conversations/${encodeURIComponent(id)}`);
    creation.mutate({ draft, mcp }, { onSuccess });
  }

  return {
    draft,
    change,
    /** What is sent is another request from here on. */
    edit: (part: DraftChange<Draft>) =>
      change((before) => ({ ...toPart(part, before), idempotencyKey: randomText() })),
    send,
    ready,
    starting: creation.isPending,
    faults,
    error: besideFields(creation.error),
    refusal: checked ?? creation.error,
  };
}

/** Goes to the first field that something is wrong with. */
function useFocusOnFault(refusal: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (refusal) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refusal]);
  return form;
}

/** Where there is no keyboard on the screen that would cover it, whoever comes to the page can write at once. */
const withKeyboard = '(hover: hover) and (pointer: fine)';

function useFocusAtFirst(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia(withKeyboard).matches)
      box.current?.focus({ preventScroll: true });
  }, [box]);
}

export function Composer() {
  const { home } = useTexts();
  const { draft, change, edit, send, ready, starting, faults, error, refusal } = useComposer();
  const box = useRef<HTMLTextAreaElement>(null);
  const form = useFocusOnFault(refusal);
  useFocusAtFirst(box);
  useShortcuts(
    useMemo(() => ({ create: () => box.current?.focus(), write: () => box.current?.focus() }), []),
  );

  return (
    <form
      ref={form}
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <MessageBox
        label={home.message}
        placeholder={home.placeholder}
        rows={4}
        box={box}
        text={draft.message}
        images={draft.images}
        onText={(message) => edit({ message })}
        onImages={(added) => edit((newest) => ({ images: added(newest.images) }))}
        onSend={send}
      >
        <SendRow label={starting ? home.starting : home.start} disabled={!ready || starting} />
      </MessageBox>
      <Where draft={draft} edit={edit} faults={faults} onMore={() => change({ open: !draft.open })} />
      {draft.open ? <MoreOptions draft={draft} edit={edit} faults={faults} /> : null}
      <ErrorCallout error={error} kept />
    </form>
  );
}
