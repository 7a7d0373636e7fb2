// The end of a section: whether something is unsaved, what went wrong, and the buttons.
import { ErrorCallout } from '../parts/Callout.tsx';
import { Icon } from '../parts/Icon.tsx';
import { useTexts } from '../texts/texts.tsx';
import type { SettingsForm } from './form.ts';

export function SaveBar({ form }: { readonly form: SettingsForm }) {
  const { settings } = useTexts();
  return (
    <div className="save-bar">
      <ErrorCallout error={form.error} kept />
      <div className="row">
        <button type="submit" className="button primary" disabled={!form.changed || form.saving}>
          {settings.save}
        </button>
        {form.changed ? (
          <button type="button" className="button" onClick={form.discard} disabled={form.saving}>
            {settings.discard}
          </button>
        ) : null}
        <p role="status" className="quiet">
          {form.changed ? settings.unsaved : null}
          {form.saved && !form.changed ? (
            <>
              <Icon name="check" /> {settings.saved}
            </>
          ) : null}
        </p>
      </div>
    </div>
  );
}
