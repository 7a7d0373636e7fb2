// Provides the texts of the settings in the language of the web UI.
import { useLocale } from '../texts.tsx';
import { de } from './de.ts';
import { en, type SettingsTexts } from './en.ts';

const catalogues: Readonly<Record<string, SettingsTexts>> = { en, de };

export function useSettingsTexts(): SettingsTexts {
  const { language } = useLocale();
  return catalogues[language] ?? en;
}
