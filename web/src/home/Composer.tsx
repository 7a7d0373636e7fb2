// The form that starts a conversation: the first message, the repository and more options.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { randomText } from '../../../src/client/conversations.ts';
import type { McpConfig } from '../../../src/client/parley.ts';
import { ErrorCallout } from '../components/Callout.tsx';
import { SelectField, TextArea, TextField } from '../components/fields.tsx';
import { Icon } from '../components/Icon.tsx';
import { MessageBox } from '../components/MessageBox.tsx';
import { SendRow } from '../components/SendRow.tsx';
import { useShortcuts } from '../layout/shortcuts.ts';
import { refetchLists } from '../live/conversationLists.ts';
import { useClearNetworkErrors } from '../live/networkErrors.ts';
import { agentValue } from '../session/agentNames.ts';
import { useAgentChoices } from '../session/agents.ts';
import { useApprovalChoices } from '../session/approvalChoices.ts';
import type { ApprovalMode } from '../session/approvalModes.ts';
import { type DraftChange, resolveChange, useDraft } from '../session/drafts.ts';
import { useModelNames } from '../session/models.ts';
import { useMissingKey } from '../session/providerKeys.ts';
import { useParley } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import {
  checkDraft,
  type Draft,
  emptyDraft,
  errorOutsideFields,
  errorsOfUneditedFields,
  type FieldErrors,
  hasHiddenField,
  hasHiddenFieldError,
  serviceFieldErrors,
  storableDraft,
  toRequest,
} from './newConversation.ts';

interface Creation {
  readonly draft: Draft;
  readonly mcp: McpConfig | null;
}

interface CreationOptions {
  readonly onCreated: (sent: Draft) => void;
  readonly onRefused: (error: unknown) => void;
}

/** Sends the draft as it was on submit. The user may go on typing or leave the screen meanwhile. */
function useCreation({ onCreated, onRefused }: CreationOptions) {
  const parley = useParley();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ draft, mcp }: Creation) =>
      parley.conversations.create(toRequest(draft, mcp), { idempotencyKey: draft.idempotencyKey }),
    onSuccess: (_, { draft }) => {
      onCreated(draft);
      refetchLists(queries);
    },
    onError: onRefused,
  });
}

interface FieldsProps {
  readonly draft: Draft;
  readonly edit: (part: Partial<Draft>) => void;
  readonly fieldErrors: FieldErrors;
}

function MoreOptions({ draft, edit, fieldErrors }: FieldsProps) {
  const { home } = useTexts();
  const settings = useSettings().data;
  const { choices, missingHint } = useAgentChoices();
  const agent = draft.agent ?? agentValue(settings?.agent ?? null);
  const withoutKey = useMissingKey()(draft.model);
  // The error of the field says the same.
  const isKeyShown = draft.model.trim() !== '' && fieldErrors.model === undefined;
  return (
    <div className="more-options">
      <SelectField
        label={home.agent}
        hint={missingHint(agent) ?? home.agentHint}
        value={agent}
        options={choices}
        onChange={(chosen) => edit({ agent: chosen })}
        error={fieldErrors.agent}
      />
      <TextField
        label={home.model}
        hint={isKeyShown && withoutKey !== undefined ? home.keyHint(withoutKey) : home.modelHint}
        mono
        value={draft.model}
        placeholder={settings?.llm_model ?? ''}
        suggestions={useModelNames()}
        onChange={(model) => edit({ model })}
        error={fieldErrors.model}
      />
      <SelectField
        label={home.approval}
        value={draft.approval ?? ''}
        options={useApprovalChoices()}
        onChange={(approval) => edit({ approval: approval as ApprovalMode })}
      />
      <TextArea
        label={home.instructions}
        hint={home.instructionsHint}
        value={draft.instructions}
        onChange={(instructions) => edit({ instructions })}
        error={fieldErrors.instructions}
      />
      <TextArea
        label={home.mcp}
        hint={home.mcpHint}
        mono
        value={draft.mcp}
        placeholder={'{"shttp_servers": [{"url": "https://…"}]}'}
        onChange={(mcp) => edit({ mcp })}
        error={fieldErrors.mcp}
      />
    </div>
  );
}

function RepositoryFields({
  draft,
  edit,
  fieldErrors,
  onMore,
}: FieldsProps & { readonly onMore: () => void }) {
  const { home } = useTexts();
  return (
    <div className="repository-fields">
      <TextField
        label={home.repository}
        placeholder={home.repositoryHint}
        value={draft.repository}
        onChange={(repository) => edit({ repository })}
        error={fieldErrors.repository}
      />
      <TextField
        label={home.branch}
        placeholder={home.branchHint}
        value={draft.branch}
        onChange={(branch) => edit({ branch })}
        error={fieldErrors.branch}
      />
      <button type="button" className="button plain" aria-expanded={draft.open} onClick={onMore}>
        <Icon name="chevron" />
        {home.more}
      </button>
    </div>
  );
}

function useComposer() {
  const { home } = useTexts();
  const [, go] = useLocation();
  const { draft, newest, change, clear } = useDraft<Draft>('home', emptyDraft, {
    large: ['images'],
    storable: storableDraft,
  });
  const [checked, setChecked] = useState<{ readonly draft: Draft; readonly fieldErrors: FieldErrors }>();
  const creation = useCreation({
    onCreated: (sent) => newest().idempotencyKey === sent.idempotencyKey && clear(),
    onRefused: (error) => hasHiddenFieldError(error) && change({ open: true }),
  });
  useClearNetworkErrors(creation);
  const ready = draft.message.trim() !== '' || draft.images.length > 0;
  const own = checked === undefined ? {} : errorsOfUneditedFields(checked.fieldErrors, checked.draft, draft);
  const fieldErrors = { ...serviceFieldErrors(creation.error, creation.variables?.draft, draft), ...own };

  function send() {
    if (!ready || creation.isPending) return;
    const { mcp, fieldErrors: found } = checkDraft(draft, home);
    const isWrong = Object.keys(found).length > 0;
    setChecked(isWrong ? { draft, fieldErrors: found } : undefined);
    if (hasHiddenField(found)) change({ open: true });
    if (isWrong) return;
    // React Query calls this only while the screen is mounted.
    const onSuccess = ({ conversation_id: id }: { readonly conversation_id: string }) =>
      go(`/conversations/${encodeURIComponent(id)}`);
    creation.mutate({ draft, mcp }, { onSuccess });
  }

  return {
    draft,
    change,
    /** An edited draft is another request, with another idempotency key. */
    edit: (part: DraftChange<Draft>) =>
      change((before) => ({ ...resolveChange(part, before), idempotencyKey: randomText() })),
    send,
    ready,
    starting: creation.isPending,
    fieldErrors,
    error: errorOutsideFields(creation.error),
    refusal: checked ?? creation.error,
  };
}

/** Focuses the first invalid field. */
function useFocusOnError(refusal: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (refusal) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refusal]);
  return form;
}

/** Devices without an on-screen keyboard, which would cover the screen. */
const hardwareKeyboard = '(hover: hover) and (pointer: fine)';

function useInitialFocus(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (document.activeElement === document.body && matchMedia(hardwareKeyboard).matches)
      box.current?.focus({ preventScroll: true });
  }, [box]);
}

export function Composer() {
  const { home } = useTexts();
  const { draft, change, edit, send, ready, starting, fieldErrors, error, refusal } = useComposer();
  const box = useRef<HTMLTextAreaElement>(null);
  const form = useFocusOnError(refusal);
  useInitialFocus(box);
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
      <RepositoryFields
        draft={draft}
        edit={edit}
        fieldErrors={fieldErrors}
        onMore={() => change({ open: !draft.open })}
      />
      {draft.open ? <MoreOptions draft={draft} edit={edit} fieldErrors={fieldErrors} /> : null}
      <ErrorCallout error={error} kept />
    </form>
  );
}
