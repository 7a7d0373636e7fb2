// Preferences that are stored in this browser: the theme, the sidebar, and whether single-key shortcuts and notifications
// are on.
import { useSyncExternalStore } from 'react';

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export type Grouping = 'day' | 'repository';

interface Preferences {
  readonly theme: Theme;
  readonly shortcuts: boolean;
  /** The browser must allow them, too. */
  readonly notifications: boolean;
  readonly sidebarCollapsed: boolean;
  readonly sidebarPx: number;
  readonly grouping: Grouping;
  readonly pinnedFirst: boolean;
}

const storageKey = 'parley.preferences';
const defaults: Preferences = {
  theme: 'auto',
  shortcuts: true,
  notifications: false,
  sidebarCollapsed: false,
  sidebarPx: 288,
  grouping: 'day',
  pinnedFirst: true,
};
const listeners = new Set<() => void>();

function read(): Preferences {
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Partial<Preferences>) };
  } catch {
    return defaults;
  }
}

let current = read();

/** Applies the chosen theme; `auto` follows the system. */
export function applyTheme(): void {
  if (current.theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = current.theme;
}

export function setPreferences(part: Partial<Preferences>): void {
  current = { ...current, ...part };
  try {
    localStorage.setItem(storageKey, JSON.stringify(current));
  } catch {
    // Without storage the preference lasts until a reload.
  }
  applyTheme();
  for (const listener of listeners) listener();
}

export const getPreferences = () => current;

export function usePreferences(): Preferences {
  return useSyncExternalStore((onChange) => {
    listeners.add(onChange);
    return () => listeners.delete(onChange);
  }, getPreferences);
}
