// Single keys that do something wherever nobody is typing. They can be switched off in the dialog that lists them.
import { useEffect } from 'react';
import { preferences } from './preferences.ts';

/** What each key does, by the name of its text. */
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

/** The actions of a screen while it is shown. */
export function useShortcuts(actions: Partial<Record<Shortcut, () => void>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
      if (!preferences().shortcuts || isTyping(event.target) || document.querySelector('dialog[open]'))
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
