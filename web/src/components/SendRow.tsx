// The send button of a message box, with its keyboard shortcut.
import type { Texts } from '../texts/en.ts';
import { useTexts } from '../texts/texts.tsx';
import { Icon } from './Icon.tsx';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function sendKeys({ shell }: Texts): string {
  return isMac ? '⌘ Enter' : `${shell.ctrl} Enter`;
}

export function paletteKeys({ shell }: Texts): string {
  return isMac ? '⌘ K' : `${shell.ctrl} K`;
}

interface SendRowProps {
  readonly label: string;
  readonly disabled: boolean;
}

export function SendRow({ label, disabled }: SendRowProps) {
  const texts = useTexts();
  return (
    <div className="send-row">
      <span className="muted wide-only">
        <kbd>{sendKeys(texts)}</kbd> {texts.home.sendHint}
      </span>
      <button type="submit" className="button primary" disabled={disabled}>
        <Icon name="send" />
        {label}
      </button>
    </div>
  );
}
