// The tool servers as the JSON that they are, for whoever has it at hand.
import { useRef, useState } from 'react';
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../parts/BusyButton.tsx';
import { Callout, ErrorCallout } from '../../parts/Callout.tsx';
import { TextArea } from '../../parts/fields.tsx';
import { useDraft } from '../../session/drafts.ts';
import { useSettingsUpdate } from '../../session/settings.ts';
import { faultsAt } from '../../texts/errors.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { Form } from '../Section.tsx';
import { useUnsaved } from '../unsaved.tsx';
import { fromJson, holdsSecrets, toJson } from './servers.ts';
import { fromUsual, NoCounterpart } from './usualServers.ts';

interface TypedText {
  /** Undefined: as it is stored. */
  readonly text?: string | undefined;
  /** What was stored when it was begun. */
  readonly from?: string | undefined;
}

/** Only what holds no new key is kept over a reload. */
function useTypedText() {
  const { draft, change, clear } = useDraft<TypedText>('settings.toolsJson', {});
  const [typed, setTyped] = useState<TypedText>(draft);
  return {
    ...typed,
    put: (next: TypedText) => {
      setTyped(next);
      if (next.text === undefined || holdsSecrets(next.text)) clear();
      else change(next);
    },
  };
}

/** A text that was to be saved; `fault` where it was not even sent. */
interface Tried {
  readonly text: string;
  readonly fault?: string;
  /** Servers that were written in the form of other programs. */
  readonly converted?: readonly string[] | undefined;
}

/** Throws what `JSON.parse` throws, and `NoCounterpart`. */
function readServers(text: string) {
  const config = fromJson(text);
  const usual = text.trim() === '' ? undefined : fromUsual(JSON.parse(text));
  return usual === undefined ? { config } : { config: usual.config, converted: usual.names };
}

function useJsonForm(config: Settings['mcp_config']) {
  const { tools: texts } = useSettingsTexts();
  const { text, from, put } = useTypedText();
  const newest = useRef(text);
  newest.current = text;
  const [tried, setTried] = useState<Tried>();
  const update = useSettingsUpdate();
  const stored = toJson(config);
  const changed = text !== undefined && text !== stored;

  function send(mcp_config: McpConfig | null) {
    const onSuccess = (after: Settings) =>
      // What was typed meanwhile stays, and goes on from what is stored now.
      put(newest.current === text ? {} : { text: newest.current, from: toJson(after.mcp_config) });
    update.mutate({ mcp_config }, { onSuccess });
  }

  function save() {
    if (text === undefined || update.isPending) return;
    try {
      const { config: read, converted } = readServers(text);
      setTried({ text, converted });
      send(read);
    } catch (error) {
      const { message } = error as Error;
      const fault = error instanceof NoCounterpart ? texts.jsonForeign(message) : texts.jsonFault(message);
      setTried({ text, fault });
      update.reset();
    }
  }

  function discard() {
    put({});
    update.reset();
  }

  useUnsaved(changed, discard);
  const said = faultsAt(update.error, 'mcp_config');
  return {
    text: text ?? stored,
    type: (typed: string) => put({ text: typed, from: from ?? stored }),
    changed,
    /** Others have changed what is stored since it was begun. */
    isOld: changed && from !== undefined && from !== stored && !update.isPending,
    saving: update.isPending,
    saved: update.isSuccess,
    converted: tried?.converted ?? [],
    fault: tried?.text === text ? (tried?.fault ?? said) : undefined,
    failure: tried?.fault === undefined ? update.error : tried,
    /** What is not said at the field. */
    error: said === undefined ? update.error : null,
    save,
    discard,
  };
}

export function ServersJson({ config }: { readonly config: Settings['mcp_config'] }) {
  const { tools: texts, saving } = useSettingsTexts();
  const { settings: words } = useTexts();
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
        fault={form.fault}
      />
      {form.isOld ? <Callout kind="warning">{texts.jsonOld}</Callout> : null}
      <ErrorCallout error={form.error} kept />
      <div className="row">
        {form.changed ? (
          <>
            <BusyButton type="submit" look="primary" busy={form.saving} busyText={saving}>
              {words.save}
            </BusyButton>
            <button type="button" className="button" onClick={form.discard}>
              {words.discard}
            </button>
          </>
        ) : null}
        <p role="status" className="quiet">
          {form.changed ? words.unsaved : form.saved ? words.saved : null}
          {form.saved && !form.changed && form.converted.length > 0
            ? ` ${texts.jsonConverted(form.converted.join(', '))}`
            : null}
        </p>
      </div>
    </Form>
  );
}
