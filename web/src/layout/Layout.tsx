// The frame of every screen: sidebar, connection banner and keyboard shortcuts.
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Change } from '../../../src/client/parley.ts';
import { Icon } from '../components/Icon.tsx';
import { useApprovalNotification } from '../live/browserNotifications.ts';
import { useChanges } from '../live/changes.ts';
import { createNotificationFilter } from '../live/notifications.ts';
import { playSound } from '../live/sound.ts';
import { Palette } from '../palette/Palette.tsx';
import { usePanes } from '../panes/panes.ts';
import { useSettings } from '../session/settings.ts';
import { useSidebarWidth } from '../sidebar/Resizer.tsx';
import { Sidebar } from '../sidebar/Sidebar.tsx';
import { useLocale, useTexts } from '../texts/texts.tsx';
import { ConnectionBanner } from './ConnectionBanner.tsx';
import { Foot, nextTheme } from './Foot.tsx';
import { NoticeLine } from './NoticeLine.tsx';
import { ShortcutsDialog } from './ShortcutsDialog.tsx';
import { useShortcuts } from './shortcuts.ts';

/** Below this width, the list of conversations is a screen of its own. The same as in layout.css. */
const phone = '(width < 48rem)';

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
  const { ids } = usePanes();
  const newest = useRef({ sounds: false, ids });
  newest.current = { sounds: settings?.enable_sound_notifications ?? false, ids };
  const notify = useApprovalNotification();
  const [isNotable] = useState(createNotificationFilter);
  const onChange = useCallback(
    (change: Change) => {
      // An open conversation notifies itself.
      if (!isNotable(change) || newest.current.ids.includes(change.conversation_id)) return;
      if (newest.current.sounds) playSound();
      if (change.agent_state === 'awaiting_user_confirmation') notify(change.conversation_id, change.title);
    },
    [isNotable, notify],
  );
  useChanges(ids.length > 0, onChange);
}

/** On a phone, the screens beside the list have the way back to it. */
function PhoneBar() {
  const { shell } = useTexts();
  return (
    <header className="phone-bar">
      <Link href="/" className="button plain icon-only" aria-label={shell.toHome} title={shell.toHome}>
        <Icon name="back" />
      </Link>
      <Link href="/" className="logo" aria-label={shell.name} tabIndex={-1}>
        <Icon name="logo" />
      </Link>
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

/** Ctrl+K, or ⌘K on a Mac, also while the user is typing. */
function usePaletteKey(onPalette: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      if (event.altKey || event.shiftKey || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      onPalette();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onPalette]);
}

function screenOf(path: string): string {
  if (path === '/') return 'list';
  return path.startsWith('/conversations/') ? 'conversation' : 'other';
}

export function Layout({ children }: { readonly children: ReactNode }) {
  const { shell } = useTexts();
  const [helping, setHelping] = useState(false);
  const [path, go] = useLocation();
  useLanguage();
  useNotifications();
  useSidebarWidth();
  const writing = useScreenFocus(path);
  useShortcuts(
    useMemo(
      () => ({
        help: () => setHelping(true),
        // Where the message box is, it handles this shortcut.
        create: () => {
          if (path === '/new' || (path === '/' && !matchMedia(phone).matches)) return;
          writing.current = true;
          go('/new');
        },
        settings: () => go('/settings'),
        theme: nextTheme,
      }),
      [go, path, writing],
    ),
  );
  const onHelp = useCallback(() => setHelping(true), []);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const onPalette = useCallback(() => setPaletteOpen(true), []);
  usePaletteKey(onPalette);
  return (
    <div className="shell" data-screen={screenOf(path)}>
      <a className="skip-link" href="#content">
        {shell.skip}
      </a>
      <ConnectionBanner />
      <Sidebar onPalette={onPalette} foot={<Foot onHelp={onHelp} />} />
      <div className="screen">
        <PhoneBar />
        <main id="content" tabIndex={-1}>
          {/* The heading of the list, where it is a screen of its own. */}
          {path === '/' ? <h1 className="list-heading">{shell.conversations}</h1> : null}
          {children}
        </main>
      </div>
      <NoticeLine />
      {isPaletteOpen ? <Palette onHelp={onHelp} onClose={() => setPaletteOpen(false)} /> : null}
      {helping ? <ShortcutsDialog onClose={() => setHelping(false)} /> : null}
    </div>
  );
}
