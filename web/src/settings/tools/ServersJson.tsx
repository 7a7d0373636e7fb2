// The tool servers as the JSON that they are, for whoever has it at hand.
import { useState } from 'react';
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../parts/Callout.tsx';
import { TextArea } from '../../parts/fields.tsx';
import { useDraft } from '../../session/drafts.ts';
import { useSettingsUpdate } from '../../session/settings.ts';
import { faultsAt } from '../../texts/errors.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { Form } from '../Section.tsx';
import { useUnsaved } from '../unsaved.tsx';
import { fromJson, holdsSecrets, toJson } from './servers.ts';

/** Undefined: as it is stored. Only what holds no new key is kept over a reload. */
function useTypedText() {
  const { draft, change, clear } = useDraft<{ text?: string }>('settings.toolsJson', {});
  const [text, setText] = useState(draft.text);
  return {
    text,
    type: (typed: string) => {
      setText(typed);
      if (holdsSecrets(typed)) clear();
      else change({ text: typed });
    },
    forget: () => {
      setText(undefined);
      clear();
    },
  };
}

export function ServersJson({ config }: { readonly config: Settings['mcp_config'] }) {
  const { tools: texts } = useSettingsTexts();
  const { settings: words } = useTexts();
  const { text, type, forget } = useTypedText();
  const [jsonFault, setJsonFault] = useState<string>();
  const update = useSettingsUpdate();
  const stored = toJson(config);
  const changed = text !== undefined && text !== stored;

  function discard() {
    forget();
    setJsonFault(undefined);
    update.reset();
  }

  function save() {
    let parsed: McpConfig | null;
    try {
      parsed = fromJson(text ?? '');
    } catch (error) {
      setJsonFault(texts.jsonFault((error as Error).message));
      return;
    }
    setJsonFault(undefined);
    update.mutate({ mcp_config: parsed }, { onSuccess: forget });
  }

  useUnsaved(changed, discard);
  const said = faultsAt(update.error, 'mcp_config');
  return (
    <Form className="entry-form" error={jsonFault ?? update.error} onSubmit={save}>
      <TextArea
        label={texts.jsonLabel}
        hint={texts.jsonHint}
        mono
        rows={12}
        value={text ?? stored}
        onChange={type}
        fault={jsonFault ?? said}
      />
      {said === undefined ? <ErrorCallout error={update.error} kept /> : null}
      <div className="row">
        {changed ? (
          <>
            <button type="submit" className="button primary">
              {words.save}
            </button>
            <button type="button" className="button" onClick={discard}>
              {words.discard}
            </button>
          </>
        ) : null}
        <p role="status" className="quiet">
          {changed ? words.unsaved : update.isSuccess ? words.saved : null}
        </p>
      </div>
    </Form>
  );
}
