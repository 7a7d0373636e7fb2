// Puts a text on the clipboard, and says that it did.
import { useState } from 'react';
import { Icon } from '../parts/Icon.tsx';
import { useTexts } from '../texts/texts.tsx';

const shownMs = 1_500;

export function CopyButton({ text }: { readonly text: () => string }) {
  const { shell } = useTexts();
  const [done, setDone] = useState(false);
  // Pages that did not come over https or from this machine have no clipboard.
  if (navigator.clipboard === undefined) return null;
  const label = done ? shell.copied : shell.copy;
  return (
    <button
      type="button"
      className="button plain only-icon copy"
      aria-label={label}
      title={label}
      onClick={async () => {
        await navigator.clipboard.writeText(text());
        setDone(true);
        setTimeout(() => setDone(false), shownMs);
      }}
    >
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  );
}
