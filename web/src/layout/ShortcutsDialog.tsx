// The list of keyboard shortcuts, and the switch that turns single keys off.
import { Dialog } from '../components/Dialog.tsx';
import { ToggleField } from '../components/fields.tsx';
import { paletteKeys, sendKeys } from '../components/SendRow.tsx';
import { useTexts } from '../texts/texts.tsx';
import { setPreferences, usePreferences } from './preferences.ts';
import { keyName, type Shortcut, shortcutKeys } from './shortcuts.ts';

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const texts = useTexts();
  const { shortcuts } = texts;
  const preferred = usePreferences();
  const names = Object.keys(shortcutKeys) as Shortcut[];
  return (
    <Dialog title={shortcuts.title} onClose={onClose}>
      <dl className="shortcuts">
        <div>
          <dt>
            <kbd>{sendKeys(texts)}</kbd>
          </dt>
          <dd>{shortcuts.send}</dd>
        </div>
        <div>
          <dt>
            <kbd>{paletteKeys(texts)}</kbd>
          </dt>
          <dd>{shortcuts.palette}</dd>
        </div>
        {names.map((name) => (
          <div key={name} className={preferred.shortcuts ? undefined : 'disabled'}>
            <dt>
              <kbd>{keyName(shortcutKeys[name])}</kbd>
            </dt>
            <dd>{shortcuts[name]}</dd>
          </div>
        ))}
      </dl>
      <ToggleField
        label={shortcuts.on}
        hint={shortcuts.onHint}
        checked={preferred.shortcuts}
        onChange={(on) => setPreferences({ shortcuts: on })}
      />
    </Dialog>
  );
}
