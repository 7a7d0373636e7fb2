// The words of the settings, in the language of the page.
import { useWords } from '../texts.tsx';
import { de } from './de.ts';
import { en, type SettingsTexts } from './en.ts';

const catalogues: Readonly<Record<string, SettingsTexts>> = { en, de };

export function useSettingsTexts(): SettingsTexts {
  const { language } = useWords();
  return catalogues[language] ?? en;
}
