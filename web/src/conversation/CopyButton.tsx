// Puts a text on the clipboard, and says that it did.
import { useState } from 'react';
import { IconButton } from '../components/IconButton.tsx';
import { useTexts } from '../texts/texts.tsx';

const shownMs = 1_500;
const icons = { copy: 'copy', copied: 'check', notCopied: 'alert' } as const;

export function CopyButton({ text }: { readonly text: () => string }) {
  const { shell } = useTexts();
  const [state, setState] = useState<keyof typeof icons>('copy');
  // Pages that did not come over https or from this machine have no clipboard.
  if (navigator.clipboard === undefined) return null;

  async function copy() {
    // A browser may refuse, or ask somebody who does.
    const done = await navigator.clipboard.writeText(text()).then(
      () => 'copied' as const,
      () => 'notCopied' as const,
    );
    setState(done);
    setTimeout(() => setState('copy'), shownMs);
  }

  return <IconButton icon={icons[state]} label={shell[state]} className="plain copy" onClick={copy} />;
}
