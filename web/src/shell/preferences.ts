// Choices of this browser, not of the user: light or dark, and whether single keys do something.
import { useSyncExternalStore } from 'react';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

interface Preferences {
  readonly theme: Theme;
  readonly shortcuts: boolean;
}

const stored = 'parley.preferences';
const usual: Preferences = { theme: 'auto', shortcuts: true };
const listeners = new Set<() => void>();

function read(): Preferences {
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(stored) ?? '{}') as Partial<Preferences>) };
  } catch {
    return usual;
  }
}

let now = read();

/** Puts the chosen colours on the page; without a choice those of the system hold. */
export function applyTheme(): void {
  if (now.theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = now.theme;
}

export function prefer(part: Partial<Preferences>): void {
  now = { ...now, ...part };
  try {
    localStorage.setItem(stored, JSON.stringify(now));
  } catch {
    // It holds until the page is left.
  }
  applyTheme();
  for (const listener of listeners) listener();
}

export const preferences = () => now;

export function usePreferences(): Preferences {
  return useSyncExternalStore((onChange) => {
    listeners.add(onChange);
    return () => listeners.delete(onChange);
  }, preferences);
}
