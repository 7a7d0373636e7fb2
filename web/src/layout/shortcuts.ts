// Keyboard shortcuts of a single key, which work unless the user is typing. A dialog lists them and turns them off.
import { useEffect } from 'react';
import { getPreferences } from './preferences.ts';

/** The names are also those of the texts that describe them. */
export const shortcutKeys = {
  help: '?',
  create: 'n',
  search: '/',
  settings: ',',
  write: 'm',
  details: 'd',
  end: 'e',
  theme: 't',
  allow: 'a',
  reject: 'r',
} as const;
export type Shortcut = keyof typeof shortcutKeys;

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  );
}

/** Registers shortcuts while the component is mounted. */
export function useShortcuts(actions: Partial<Record<Shortcut, () => void>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
      if (!getPreferences().shortcuts || isTyping(event.target) || document.querySelector('dialog[open]'))
        return;
      for (const [name, action] of Object.entries(actions))
        if (shortcutKeys[name as Shortcut] === event.key) {
          event.preventDefault();
          action();
        }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [actions]);
}
