// Keyboard shortcuts of a single key. Letters work unless the user is typing. A dialog lists them and turns them off.
import { useContext, useEffect } from 'react';
import { ActivePane } from '../panes/panes.ts';
import { getPreferences } from './preferences.ts';

/** The names are also those of the texts that describe them. */
export const shortcutKeys = {
  help: '?',
  create: 'n',
  search: '/',
  next: 'j',
  previous: 'k',
  needsMe: 'w',
  pin: 'p',
  unread: 'u',
  archive: 'x',
  sidebar: 'b',
  pane: 'o',
  settings: ',',
  write: 'm',
  details: 'd',
  end: 'e',
  theme: 't',
  allow: 'a',
  reject: 'r',
  interrupt: 'Escape',
} as const;
export type Shortcut = keyof typeof shortcutKeys;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  );
}

/** As it is shown to people. */
export function keyName(key: string): string {
  return key === 'Escape' ? 'Esc' : key;
}

/** Escape types nothing, but it ends the composition of a character. */
function isText({ target, key, isComposing }: KeyboardEvent): boolean {
  return isTyping(target) && (key !== 'Escape' || isComposing);
}

/** Registers shortcuts while the component is mounted, and its pane is active. */
export function useShortcuts(actions: Partial<Record<Shortcut, () => void>>): void {
  const isActive = useContext(ActivePane);
  useEffect(() => {
    if (!isActive) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
      if (!getPreferences().shortcuts || isText(event) || document.querySelector('dialog[open]')) return;
      for (const [name, action] of Object.entries(actions))
        if (shortcutKeys[name as Shortcut] === event.key) {
          event.preventDefault();
          action();
        }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [actions, isActive]);
}
