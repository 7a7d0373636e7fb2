// The bar below a changed section, with its error and its buttons to save and discard.
import { useEffect, useRef } from 'react';
import { BusyButton } from '../../components/BusyButton.tsx';
import { ErrorCallout } from '../../components/Callout.tsx';
import { Icon } from '../../components/Icon.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import type { SettingsForm } from './useSettingsForm.ts';

export function SaveBar({ form }: { readonly form: SettingsForm }) {
  const { settings } = useTexts();
  const texts = useSettingsTexts();
  const { changed, saving, saved, error } = form;
  const status = useRef<HTMLParagraphElement>(null);
  const before = useRef(changed);
  useEffect(() => {
    // The clicked button is gone; keyboard users continue from here.
    if (before.current && !changed && document.activeElement === document.body) status.current?.focus();
    before.current = changed;
  }, [changed]);
  return (
    <div className={changed || saved ? 'save-bar' : 'visually-hidden'}>
      <ErrorCallout error={error} kept />
      <div className="row">
        {changed ? (
          <>
            <BusyButton type="submit" variant="primary" busy={saving} busyText={texts.saving}>
              {settings.save}
            </BusyButton>
            <button type="button" className="button" onClick={form.discard}>
              {settings.discard}
            </button>
          </>
        ) : null}
        <p role="status" className="muted" ref={status} tabIndex={-1}>
          {changed ? settings.unsaved : null}
          {saved && !changed ? (
            <>
              <Icon name="check" /> {settings.saved}
            </>
          ) : null}
        </p>
      </div>
    </div>
  );
}
