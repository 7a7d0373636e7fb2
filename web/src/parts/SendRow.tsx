// The end of a box to write in: which keys send it, and the button that does.
import type { Texts } from '../texts/en.ts';
import { useTexts } from '../texts/texts.tsx';
import { Icon } from './Icon.tsx';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** As they stand on a keyboard. */
export function sendKeys({ shell }: Texts): string {
  return isMac ? '⌘ Enter' : `${shell.ctrl} Enter`;
}

interface SendRowProps {
  readonly label: string;
  readonly disabled: boolean;
}

export function SendRow({ label, disabled }: SendRowProps) {
  const texts = useTexts();
  return (
    <div className="end">
      <span className="quiet wide-only">
        <kbd>{sendKeys(texts)}</kbd> {texts.home.sendHint}
      </span>
      <button type="submit" className="button primary" disabled={disabled}>
        <Icon name="send" />
        {label}
      </button>
    </div>
  );
}
