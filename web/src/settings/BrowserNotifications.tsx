// Turns notifications of this browser on and off.
import { useState } from 'react';
import { setPreferences, usePreferences } from '../layout/preferences.ts';
import { notificationSupport, turnOnNotifications } from '../live/browserNotifications.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';

export function BrowserNotifications() {
  const { notifications: texts } = useSettingsTexts().general;
  const { notifications } = usePreferences();
  const [support, setSupport] = useState(notificationSupport);
  const isOn = notifications && support === 'granted';

  async function toggle() {
    if (isOn) return setPreferences({ notifications: false });
    await turnOnNotifications();
    setSupport(notificationSupport());
  }

  return (
    <div className="field">
      <button
        type="button"
        className="button"
        disabled={support === 'unsupported' || support === 'denied'}
        onClick={() => void toggle()}
      >
        {isOn ? texts.turnOff : texts.turnOn}
      </button>
      <p className="hint">{texts.hints[support]}</p>
    </div>
  );
}
