// Links and buttons at the end of the sidebar: settings, theme, help, and who is signed in.
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Dialog } from '../components/Dialog.tsx';
import { Icon, type IconName } from '../components/Icon.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { anyDraft } from '../session/drafts.ts';
import { useSession } from '../session/session.tsx';
import { useMe } from '../session/settings.ts';
import { useTexts } from '../texts/texts.tsx';
import { getPreferences, setPreferences, type Theme, themes, usePreferences } from './preferences.ts';
import { hasUnsavedForm, hasUnsentText } from './unsavedText.ts';

const themeIcons: Readonly<Record<Theme, IconName>> = { auto: 'theme', light: 'sun', dark: 'moon' };

export function nextTheme(): void {
  const at = themes.indexOf(getPreferences().theme);
  setPreferences({ theme: themes[(at + 1) % themes.length] ?? 'auto' });
}

/** Asks for confirmation if unsaved text would be lost. */
function SignOutButton() {
  const { shell } = useTexts();
  const { signOut } = useSession();
  const [asking, setAsking] = useState(false);
  const onClick = () => (hasUnsavedForm() || anyDraft(hasUnsentText) ? setAsking(true) : signOut());
  return (
    <>
      <IconButton icon="leave" label={shell.signOut} onClick={onClick} />
      {asking ? (
        <Dialog
          title={shell.signOutTitle}
          onClose={() => setAsking(false)}
          footer={
            <>
              <button type="button" className="button" onClick={() => setAsking(false)}>
                {shell.cancel}
              </button>
              <button type="button" className="button danger" onClick={signOut}>
                {shell.signOut}
              </button>
            </>
          }
        >
          <p>{shell.signOutText}</p>
        </Dialog>
      ) : null}
    </>
  );
}

/** Shows the signed-in user, so that a link cannot sign somebody else in unnoticed. */
function SignedInUser() {
  const { signIn } = useTexts();
  const { data: me } = useMe();
  if (me === undefined) return <span className="signed-in-user" />;
  const user = visibleLine(me.user);
  return (
    <span className="signed-in-user" title={signIn.signedInAs(user, visibleLine(me.key_name))}>
      {user}
    </span>
  );
}

export function Foot({ onHelp }: { readonly onHelp: () => void }) {
  const { shell } = useTexts();
  const { theme } = usePreferences();
  const [path] = useLocation();
  return (
    <div className="foot">
      <SignedInUser />
      <Link
        href="/settings"
        className="button plain icon-only"
        aria-current={path.startsWith('/settings') ? 'page' : undefined}
        aria-label={shell.settings}
        title={shell.settings}
      >
        <Icon name="gear" />
      </Link>
      <IconButton icon={themeIcons[theme]} label={shell.theme[theme]} onClick={nextTheme} />
      <IconButton icon="help" label={shell.help} className="plain no-phone" onClick={onHelp} />
      <SignOutButton />
    </div>
  );
}
