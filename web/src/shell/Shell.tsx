// What is around every screen: the bar at the top, the state of the connection, the shortcuts.
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation, useRoute } from 'wouter';
import type { Change } from '../../../src/client/parley.ts';
import { useChanges } from '../live/changes.ts';
import { playSound } from '../live/sound.ts';
import { Icon, type IconName } from '../parts/Icon.tsx';
import { useSession } from '../session/session.tsx';
import { useSettings } from '../session/settings.ts';
import { useWords } from '../texts/texts.tsx';
import { ConnectionNote } from './ConnectionNote.tsx';
import { HelpDialog } from './HelpDialog.tsx';
import { prefer, preferences, type Theme, themes, usePreferences } from './preferences.ts';
import { useShortcuts } from './shortcuts.ts';

const themeIcons: Readonly<Record<Theme, IconName>> = { auto: 'theme', light: 'sun', dark: 'moon' };

function nextTheme(): void {
  const at = themes.indexOf(preferences().theme);
  prefer({ theme: themes[(at + 1) % themes.length] ?? 'auto' });
}

/** Ends that nobody asked for by hand are worth a sound. */
function isNews({ status, stop_reason }: Change): boolean {
  return status === 'STOPPED' && stop_reason?.code !== 'user';
}

/** Puts the language of the settings on the page, and hears of what happens elsewhere. */
function useFollowing(): void {
  const { speak } = useWords();
  const { data: settings } = useSettings();
  const [inConversation] = useRoute('/conversations/:id');
  const language = settings?.language;
  const sounds = useRef(false);
  sounds.current = settings?.enable_sound_notifications ?? false;
  useEffect(() => {
    if (language !== undefined) speak(language);
  }, [language, speak]);
  const onChange = useCallback((change: Change) => {
    if (sounds.current && isNews(change)) playSound();
  }, []);
  // A conversation has a stream of its own; browsers allow a host only a few at once.
  useChanges(!inConversation, onChange);
}

function Bar({ onHelp }: { readonly onHelp: () => void }) {
  const { texts } = useWords();
  const { shell } = texts;
  const { signOut } = useSession();
  const { theme } = usePreferences();
  const [path] = useLocation();
  const current = (at: string) => (at === '/' ? path === '/' : path.startsWith(at)) && ('page' as const);
  return (
    <header className="bar">
      <a className="skip" href="#content">
        {shell.skip}
      </a>
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
      <button
        type="button"
        className="button plain only-icon"
        onClick={nextTheme}
        aria-label={shell.theme[theme]}
        title={shell.theme[theme]}
      >
        <Icon name={themeIcons[theme]} />
      </button>
      <button
        type="button"
        className="button plain only-icon wide-only"
        onClick={onHelp}
        aria-label={shell.help}
        title={shell.help}
      >
        <Icon name="help" />
      </button>
      <button
        type="button"
        className="button plain only-icon"
        onClick={signOut}
        aria-label={shell.signOut}
        title={shell.signOut}
      >
        <Icon name="leave" />
      </button>
    </header>
  );
}

/** Who listens to the page, or goes by keys, is at the start of a new screen. */
function useFocusOnScreen(path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) document.getElementById('content')?.focus();
    shown.current = path;
  }, [path]);
}

export function Shell({ children }: { readonly children: ReactNode }) {
  const [helping, setHelping] = useState(false);
  const [path, go] = useLocation();
  useFollowing();
  useFocusOnScreen(path);
  useShortcuts(
    useMemo(
      () => ({
        help: () => setHelping(true),
        create: () => go('/'),
        settings: () => go('/settings'),
        theme: nextTheme,
      }),
      [go],
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
