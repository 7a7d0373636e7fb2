// The end of a section, where something was changed: what went wrong, and the buttons. After that, that it is saved.
import { useEffect, useRef } from 'react';
import { BusyButton } from '../parts/BusyButton.tsx';
import { ErrorCallout } from '../parts/Callout.tsx';
import { Icon } from '../parts/Icon.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import type { SettingsForm } from './form.ts';

export function SaveBar({ form }: { readonly form: SettingsForm }) {
  const { settings } = useTexts();
  const texts = useSettingsTexts();
  const { changed, saving, saved, error } = form;
  const status = useRef<HTMLParagraphElement>(null);
  const before = useRef(changed);
  useEffect(() => {
    // The button that was pressed is gone; whoever uses the keyboard goes on from here.
    if (before.current && !changed && document.activeElement === document.body) status.current?.focus();
    before.current = changed;
  }, [changed]);
  return (
    <div className={changed || saved ? 'save-bar' : 'hidden'}>
      <ErrorCallout error={error} kept />
      <div className="row">
        {changed ? (
          <>
            <BusyButton type="submit" look="primary" busy={saving} busyText={texts.saving}>
              {settings.save}
            </BusyButton>
            <button type="button" className="button" onClick={form.discard}>
              {settings.discard}
            </button>
          </>
        ) : null}
        <p role="status" className="quiet" ref={status} tabIndex={-1}>
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
