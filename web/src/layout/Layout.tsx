// The frame of every screen: top bar, connection banner and keyboard shortcuts.
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation, useRoute } from 'wouter';
import type { Change } from '../../../src/client/parley.ts';
import { Dialog } from '../components/Dialog.tsx';
import { Icon, type IconName } from '../components/Icon.tsx';
import { IconButton } from '../components/IconButton.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { useApprovalNotification } from '../live/browserNotifications.ts';
import { useChanges } from '../live/changes.ts';
import { createNotificationFilter } from '../live/notifications.ts';
import { playSound } from '../live/sound.ts';
import { anyDraft } from '../session/drafts.ts';
import { useSession } from '../session/session.tsx';
import { useMe, useSettings } from '../session/settings.ts';
import { useLocale, useTexts } from '../texts/texts.tsx';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import { getPreferences, setPreferences, type Theme, themes, usePreferences } from './preferences.ts';
import { ShortcutsDialog } from './ShortcutsDialog.tsx';
import { useShortcuts } from './shortcuts.ts';
import { hasUnsavedForm, hasUnsentText } from './unsavedText.ts';

const themeIcons: Readonly<Record<Theme, IconName>> = { auto: 'theme', light: 'sun', dark: 'moon' };

function nextTheme(): void {
  const at = themes.indexOf(getPreferences().theme);
  setPreferences({ theme: themes[(at + 1) % themes.length] ?? 'auto' });
}

/** Applies the language of the settings. */
function useLanguage(): void {
  const { setLanguage } = useLocale();
  const language = useSettings().data?.language;
  useEffect(() => {
    if (language !== undefined) setLanguage(language);
  }, [language, setLanguage]);
}

/** Plays a sound or shows a notification when a conversation needs attention, if the user wants that. */
function useNotifications(): void {
  const { data: settings } = useSettings();
  const [inConversation] = useRoute('/conversations/:id');
  const sounds = useRef(false);
  sounds.current = settings?.enable_sound_notifications ?? false;
  const notify = useApprovalNotification();
  const [isNotable] = useState(createNotificationFilter);
  const onChange = useCallback(
    (change: Change) => {
      if (!isNotable(change)) return;
      if (sounds.current) playSound();
      if (change.agent_state === 'awaiting_user_confirmation') notify(change.conversation_id, change.title);
    },
    [isNotable, notify],
  );
  // The screen of a conversation has its own stream, and browsers allow only a few connections per host.
  useChanges(!inConversation, onChange);
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
  if (me === undefined) return null;
  const user = visibleLine(me.user);
  return (
    <span className="signed-in-user wide-only" title={signIn.signedInAs(user, visibleLine(me.key_name))}>
      {user}
    </span>
  );
}

function Navigation() {
  const { shell } = useTexts();
  const [path] = useLocation();
  const current = (at: string) => (at === '/' ? path === '/' : path.startsWith(at)) && ('page' as const);
  return (
    <nav aria-label={shell.name}>
      <Link href="/" className="logo" aria-label={`${shell.name}: ${shell.conversations}`}>
        <Icon name="logo" />
        <span>{shell.name}</span>
      </Link>
      <span className="spacer" />
      <Link
        href="/"
        className="button plain"
        aria-current={current('/') || undefined}
        title={shell.conversations}
      >
        <Icon name="chat" />
        <span className="wide-only">{shell.conversations}</span>
      </Link>
      <Link
        href="/settings"
        className="button plain"
        aria-current={current('/settings') || undefined}
        aria-label={shell.settings}
        title={shell.settings}
      >
        <Icon name="gear" />
        <span className="wide-only">{shell.settings}</span>
      </Link>
    </nav>
  );
}

function Bar({ onHelp }: { readonly onHelp: () => void }) {
  const { shell } = useTexts();
  const { theme } = usePreferences();
  return (
    <header className="top-bar">
      <a className="skip-link" href="#content">
        {shell.skip}
      </a>
      <Navigation />
      <IconButton icon={themeIcons[theme]} label={shell.theme[theme]} onClick={nextTheme} />
      <IconButton icon="help" label={shell.help} className="plain wide-only" onClick={onHelp} />
      <SignedInUser />
      <SignOutButton />
    </header>
  );
}

/** Moves the focus to a new screen, or to its message box, for keyboard and screen reader users. */
function useScreenFocus(path: string) {
  const shown = useRef(path);
  const writing = useRef(false);
  useEffect(() => {
    if (shown.current === path) return;
    const box = writing.current ? document.querySelector<HTMLElement>('.composer textarea') : null;
    (box ?? document.getElementById('content'))?.focus();
    shown.current = path;
    writing.current = false;
  }, [path]);
  return writing;
}

export function Layout({ children }: { readonly children: ReactNode }) {
  const [helping, setHelping] = useState(false);
  const [path, go] = useLocation();
  useLanguage();
  useNotifications();
  const writing = useScreenFocus(path);
  useShortcuts(
    useMemo(
      () => ({
        help: () => setHelping(true),
        // On the home screen the message box handles this shortcut.
        create: () => {
          if (path === '/') return;
          writing.current = true;
          go('/');
        },
        settings: () => go('/settings'),
        theme: nextTheme,
      }),
      [go, path, writing],
    ),
  );
  return (
    <div className="shell">
      <Bar onHelp={() => setHelping(true)} />
      <ConnectionBanner />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      {helping ? <ShortcutsDialog onClose={() => setHelping(false)} /> : null}
    </div>
  );
}
