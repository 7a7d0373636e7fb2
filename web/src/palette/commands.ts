// The commands of the palette: what can be done with the open conversation, and where one can go.
import { useMemo } from 'react';
import { useLocation } from 'wouter';
import type { IconName } from '../components/Icon.tsx';
import { setPreferences, themes } from '../layout/preferences.ts';
import { shortcutKeys } from '../layout/shortcuts.ts';
import { useActiveActions } from '../panes/panes.ts';
import { useSettingsUpdate } from '../session/settings.ts';
import { sections } from '../settings/sections.ts';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { languages, useTexts } from '../texts/texts.tsx';

export interface Command {
  /** Unique within the palette. */
  readonly id: string;
  readonly label: string;
  readonly icon: IconName;
  readonly keys?: string | undefined;
  readonly run: () => void;
}

/** What can be done with the conversation in the active pane; nothing on other screens. */
export function useConversationCommands(): readonly Command[] {
  const actions = useActiveActions();
  return useMemo(
    () =>
      actions
        .filter(({ disabled }) => !disabled)
        .map(({ label, icon, keys, run }) => ({ id: `action.${label}`, label, icon, keys, run })),
    [actions],
  );
}

export function useGlobalCommands(onHelp: () => void): readonly Command[] {
  const { palette, shell, shortcuts, settings } = useTexts();
  const sectionTexts = useSettingsTexts();
  const [, go] = useLocation();
  const { mutate: changeSettings } = useSettingsUpdate();
  return useMemo(
    () => [
      {
        id: 'new',
        label: shortcuts.create,
        icon: 'plus',
        keys: shortcutKeys.create,
        run: () => go('/new'),
      },
      ...sections.map(({ id, title }) => ({
        id: `settings.${id}`,
        label: `${settings.title}: ${title(sectionTexts)}`,
        icon: 'gear' as const,
        run: () => go(`/settings/${id}`),
      })),
      ...themes.map((theme) => ({
        id: `theme.${theme}`,
        label: shell.theme[theme],
        icon: ({ auto: 'theme', light: 'sun', dark: 'moon' } as const)[theme],
        run: () => setPreferences({ theme }),
      })),
      ...Object.entries(languages).map(([language, name]) => ({
        id: `language.${language}`,
        label: `${palette.language}: ${name}`,
        icon: 'globe' as const,
        run: () => changeSettings({ language }),
      })),
      { id: 'help', label: shell.help, icon: 'help', keys: shortcutKeys.help, run: onHelp },
    ],
    [palette, shell, shortcuts, settings, sectionTexts, go, changeSettings, onHelp],
  );
}
