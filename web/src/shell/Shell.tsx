// What is around every screen: the bar at the top, the state of the connection, the shortcuts.
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation, useRoute } from 'wouter';
import type { Change } from '../../../src/client/parley.ts';
import { useChanges } from '../live/changes.ts';
import { createNews } from '../live/news.ts';
import { playSound } from '../live/sound.ts';
import { Dialog } from '../parts/Dialog.tsx';
import { Icon, type IconName } from '../parts/Icon.tsx';
import { IconButton } from '../parts/IconButton.tsx';
import { visibleLine } from '../parts/visibleText.ts';
import { someDraft } from '../session/drafts.ts';
import { useSession } from '../session/session.tsx';
import { useMe, useSettings } from '../session/settings.ts';
import { useTexts, useWords } from '../texts/texts.tsx';
import { ConnectionNote } from './ConnectionNote.tsx';
import { HelpDialog } from './HelpDialog.tsx';
import { prefer, preferences, type Theme, themes, usePreferences } from './preferences.ts';
import { useShortcuts } from './shortcuts.ts';
import { holdsWritten, isTabHeld } from './typed.ts';

const themeIcons: Readonly<Record<Theme, IconName>> = { auto: 'theme', light: 'sun', dark: 'moon' };

function nextTheme(): void {
  const at = themes.indexOf(preferences().theme);
  prefer({ theme: themes[(at + 1) % themes.length] ?? 'auto' });
}

/** Puts the language of the settings on the page. */
function useLanguage(): void {
  const { speak } = useWords();
  const language = useSettings().data?.language;
  useEffect(() => {
    if (language !== undefined) speak(language);
  }, [language, speak]);
}

/** Hears of what happens to all conversations. */
function useNews(): void {
  const { data: settings } = useSettings();
  const [inConversation] = useRoute('/conversations/:id');
  const sounds = useRef(false);
  sounds.current = settings?.enable_sound_notifications ?? false;
  const [isNews] = useState(createNews);
  const onChange = useCallback(
    (change: Change) => {
      if (isNews(change) && sounds.current) playSound();
    },
    [isNews],
  );
  // A conversation has a stream of its own; browsers allow a host only a few at once.
  useChanges(!inConversation, onChange);
}

/** Asks first where something would be lost. */
function SignOutButton() {
  const { shell } = useTexts();
  const { signOut } = useSession();
  const [asking, setAsking] = useState(false);
  const wanted = () => (isTabHeld() || someDraft(holdsWritten) ? setAsking(true) : signOut());
  return (
    <>
      <IconButton icon="leave" label={shell.signOut} onClick={wanted} />
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

/** The user whose key this tab has, so that a link cannot sign somebody else in unnoticed. */
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

function Places() {
  const { shell } = useTexts();
  const [path] = useLocation();
  const current = (at: string) => (at === '/' ? path === '/' : path.startsWith(at)) && ('page' as const);
  return (
    <nav aria-label={shell.name}>
      <Link href="/" className="brand" aria-label={`${shell.name}: ${shell.conversations}`}>
        <Icon name="logo" />
        <span>{shell.name}</span>
      </Link>
      <span className="space" />
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
    <header className="bar">
      <a className="skip" href="#content">
        {shell.skip}
      </a>
      <Places />
      <IconButton icon={themeIcons[theme]} label={shell.theme[theme]} onClick={nextTheme} />
      <IconButton icon="help" label={shell.help} className="plain wide-only" onClick={onHelp} />
      <SignedInUser />
      <SignOutButton />
    </header>
  );
}

/** Who listens to the page, or goes by keys, is at the start of a new screen, or where they wanted to write. */
function useFocusOnScreen(path: string) {
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

export function Shell({ children }: { readonly children: ReactNode }) {
  const [helping, setHelping] = useState(false);
  const [path, go] = useLocation();
  useLanguage();
  useNews();
  const writing = useFocusOnScreen(path);
  useShortcuts(
    useMemo(
      () => ({
        help: () => setHelping(true),
        // On the first screen the box itself knows what to do.
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
      <ConnectionNote />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      {helping ? <HelpDialog onClose={() => setHelping(false)} /> : null}
    </div>
  );
}
