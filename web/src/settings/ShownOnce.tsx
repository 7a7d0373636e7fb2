// A text that is shown this once: a key, or the secret of a webhook. Leaving asks until it was put away.
import { useEffect, useId, useRef, useState } from 'react';
import { useFocusAfter } from '../parts/focus.ts';
import { Icon } from '../parts/Icon.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import { useUnsaved } from './unsaved.tsx';

interface ShownOnceProps {
  readonly title: string;
  readonly text: string;
  readonly onDone: () => void;
}

export function ShownOnce({ title, text, onDone }: ShownOnceProps) {
  const { once } = useSettingsTexts();
  const { shell } = useTexts();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useUnsaved(true, onDone, 'shownOnce');
  useEffect(() => field.current?.focus(), []);
  useFocusAfter(field);

  async function copy() {
    field.current?.select();
    // Pages that did not come over https or from this machine have no clipboard: it is selected for a hand to copy.
    await navigator.clipboard?.writeText(text).then(() => setCopied(true));
  }

  return (
    <div className="once">
      <label htmlFor={id}>
        <strong>{title}</strong>
      </label>
      <p id={`${id}-hint`}>{once.lead}</p>
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
          {once.done}
        </button>
      </div>
      <p role="status" className="hidden">
        {copied ? shell.copied : null}
      </p>
    </div>
  );
}
