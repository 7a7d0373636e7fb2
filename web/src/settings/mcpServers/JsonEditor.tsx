// The editor for MCP servers as JSON.
import { useRef, useState } from 'react';
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../components/BusyButton.tsx';
import { Callout, ErrorCallout } from '../../components/Callout.tsx';
import { TextArea } from '../../components/fields.tsx';
import { useDraft } from '../../session/drafts.ts';
import { useSettingsUpdate } from '../../session/settings.ts';
import { fieldErrorAt } from '../../texts/errors.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { Form } from '../form/Section.tsx';
import { useUnsavedChanges } from '../form/unsavedChanges.tsx';
import { fromMcpServersJson, UnsupportedField } from './mcpServersJson.ts';
import { fromJson, hasUnstoredSecrets, toJson } from './servers.ts';

interface EditedText {
  /** Undefined means the stored text. */
  readonly text?: string | undefined;
  /** The text that was stored when the user began to edit. */
  readonly from?: string | undefined;
}

/** The text is kept over a reload unless it contains new secrets. */
function useEditedText() {
  const { draft, change, clear } = useDraft<EditedText>('settings.toolsJson', {});
  const [edited, setEdited] = useState<EditedText>(draft);
  return {
    ...edited,
    put: (next: EditedText) => {
      setEdited(next);
      if (next.text === undefined || hasUnstoredSecrets(next.text)) clear();
      else change(next);
    },
  };
}

/** An attempt to save. `fieldError` is set if the text was not sent. */
interface Attempt {
  readonly text: string;
  readonly fieldError?: string;
  /** The servers that were written in the mcpServers format. */
  readonly converted?: readonly string[] | undefined;
}

/** Throws `SyntaxError` and `UnsupportedField`. */
function parseServers(text: string) {
  const config = fromJson(text);
  const mcpServers = text.trim() === '' ? undefined : fromMcpServersJson(JSON.parse(text));
  return mcpServers === undefined ? { config } : { config: mcpServers.config, converted: mcpServers.names };
}

function useJsonForm(config: Settings['mcp_config']) {
  const { tools: texts } = useSettingsTexts();
  const { text, from, put } = useEditedText();
  const newest = useRef(text);
  newest.current = text;
  const [attempt, setAttempt] = useState<Attempt>();
  const update = useSettingsUpdate();
  const stored = toJson(config);
  const changed = text !== undefined && text !== stored;

  function send(mcp_config: McpConfig | null) {
    const onSuccess = (after: Settings) =>
      // Edits that were made while saving stay, based on the text that is stored now.
      put(newest.current === text ? {} : { text: newest.current, from: toJson(after.mcp_config) });
    update.mutate({ mcp_config }, { onSuccess });
  }

  function save() {
    if (text === undefined || update.isPending) return;
    try {
      const { config: read, converted } = parseServers(text);
      setAttempt({ text, converted });
      send(read);
    } catch (error) {
      const { message } = error as Error;
      const fieldError =
        error instanceof UnsupportedField ? texts.jsonUnsupported(message) : texts.jsonInvalid(message);
      setAttempt({ text, fieldError });
      update.reset();
    }
  }

  function discard() {
    put({});
    update.reset();
  }

  useUnsavedChanges(changed, discard);
  const serviceError = fieldErrorAt(update.error, 'mcp_config');
  return {
    text: text ?? stored,
    type: (next: string) => put({ text: next, from: from ?? stored }),
    changed,
    /** The stored servers have changed since the user began to edit. */
    isOutdated: changed && from !== undefined && from !== stored && !update.isPending,
    saving: update.isPending,
    saved: update.isSuccess,
    converted: attempt?.converted ?? [],
    fieldError: attempt?.text === text ? (attempt?.fieldError ?? serviceError) : undefined,
    failure: attempt?.fieldError === undefined ? update.error : attempt,
    /** The error unless the field shows it. */
    error: serviceError === undefined ? update.error : null,
    save,
    discard,
  };
}

export function JsonEditor({ config }: { readonly config: Settings['mcp_config'] }) {
  const { tools: texts, saving } = useSettingsTexts();
  const { settings: formTexts } = useTexts();
  const form = useJsonForm(config);
  return (
    <Form className="entry-form" error={form.failure} onSubmit={form.save}>
      <TextArea
        label={texts.jsonLabel}
        hint={texts.jsonHint}
        mono
        rows={12}
        value={form.text}
        onChange={form.type}
        error={form.fieldError}
      />
      {form.isOutdated ? <Callout kind="warning">{texts.jsonOutdated}</Callout> : null}
      <ErrorCallout error={form.error} kept />
      <div className="row">
        {form.changed ? (
          <>
            <BusyButton type="submit" variant="primary" busy={form.saving} busyText={saving}>
              {formTexts.save}
            </BusyButton>
            <button type="button" className="button" onClick={form.discard}>
              {formTexts.discard}
            </button>
          </>
        ) : null}
        <p role="status" className="muted">
          {form.changed ? formTexts.unsaved : form.saved ? formTexts.saved : null}
          {form.saved && !form.changed && form.converted.length > 0
            ? ` ${texts.jsonConverted(form.converted.join(', '))}`
            : null}
        </p>
      </div>
    </Form>
  );
}
