// Shows a new key or webhook secret once, and warns if the user leaves before they confirm that they have saved it.
import { useEffect, useId, useRef, useState } from 'react';
import { useFocusHeadingOnUnmount } from '../../components/focus.ts';
import { Icon } from '../../components/Icon.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { useUnsavedChanges } from '../form/unsavedChanges.tsx';

interface OneTimeSecretProps {
  readonly title: string;
  readonly text: string;
  readonly onDone: () => void;
}

export function OneTimeSecret({ title, text, onDone }: OneTimeSecretProps) {
  const { oneTimeSecret } = useSettingsTexts();
  const { shell } = useTexts();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useUnsavedChanges(true, onDone, 'shownOnce');
  useEffect(() => field.current?.focus(), []);
  useFocusHeadingOnUnmount(field);

  async function copy() {
    field.current?.select();
    // Without https there is no clipboard; the user can copy the selected text.
    await navigator.clipboard?.writeText(text).then(() => setCopied(true));
  }

  return (
    <div className="one-time-secret">
      <label htmlFor={id}>
        <strong>{title}</strong>
      </label>
      <p id={`${id}-hint`}>{oneTimeSecret.lead}</p>
      <div className="secret">
        <input
          id={id}
          ref={field}
          className="input mono"
          readOnly
          value={text}
          aria-describedby={`${id}-hint`}
          onFocus={(event) => event.target.select()}
        />
        <button type="button" className="button" onClick={copy}>
          <Icon name={copied ? 'check' : 'copy'} />
          {copied ? shell.copied : shell.copy}
        </button>
        <button type="button" className="button" onClick={onDone}>
          {oneTimeSecret.done}
        </button>
      </div>
      <p role="status" className="visually-hidden">
        {copied ? shell.copied : null}
      </p>
    </div>
  );
}
