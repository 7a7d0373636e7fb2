// A button that copies text to the clipboard, and shows whether it worked.
import { useState } from 'react';
import { IconButton } from '../../components/IconButton.tsx';
import { useTexts } from '../../texts/texts.tsx';

const shownMs = 1_500;
const icons = { copy: 'copy', copied: 'check', notCopied: 'alert' } as const;

interface CopyButtonProps {
  readonly text: () => string;
  /** What is copied, if it is not plain from where the button is. */
  readonly label?: string;
}

export function CopyButton({ text, label }: CopyButtonProps) {
  const { shell } = useTexts();
  const [state, setState] = useState<keyof typeof icons>('copy');
  // Without https there is no clipboard.
  if (navigator.clipboard === undefined) return null;

  async function copy() {
    // The browser or the user may deny it.
    const result = await navigator.clipboard.writeText(text()).then(
      () => 'copied' as const,
      () => 'notCopied' as const,
    );
    setState(result);
    setTimeout(() => setState('copy'), shownMs);
  }

  const shown = state === 'copy' ? (label ?? shell.copy) : shell[state];
  return <IconButton icon={icons[state]} label={shown} className="plain copy" onClick={copy} />;
}
