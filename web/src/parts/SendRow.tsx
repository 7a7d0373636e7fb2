// The end of a box to write in: which keys send it, and the button that does.
import { useTexts } from '../texts/texts.tsx';
import { Icon } from './Icon.tsx';

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
export const sendKeys = isMac ? '⌘ Enter' : 'Ctrl Enter';

interface SendRowProps {
  readonly label: string;
  readonly disabled: boolean;
}

export function SendRow({ label, disabled }: SendRowProps) {
  const { home } = useTexts();
  return (
    <div className="end">
      <span className="quiet wide-only">
        <kbd>{sendKeys}</kbd> {home.sendHint}
      </span>
      <button type="submit" className="button primary" disabled={disabled}>
        <Icon name="send" />
        {label}
      </button>
    </div>
  );
}
