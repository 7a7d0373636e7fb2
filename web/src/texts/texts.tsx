// Provides the texts in the language of the settings.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';

/** The languages of the web UI. The settings allow more, which fall back to English. */
const catalogues: Readonly<Record<string, Texts>> = { en, de };
/** Their own names, by which people find them. */
export const languages: Readonly<Record<string, string>> = { en: 'English', de: 'Deutsch' };
const storageKey = 'parley.language';

interface Locale {
  readonly texts: Texts;
  /** Also for dates and numbers. */
  readonly language: string;
  /** Takes the language of the settings; null and unknown ones become English. */
  readonly setLanguage: (language: string | null) => void;
}

const LocaleContext = createContext<Locale | undefined>(undefined);

function supported(language: string | null | undefined): string | undefined {
  const name = (language ?? '').toLowerCase().split(/[-_]/, 1)[0] ?? '';
  return Object.hasOwn(catalogues, name) ? name : undefined;
}

/** The language before sign-in: that of the last visit, or of the browser. */
function firstLanguage(): string {
  try {
    return supported(localStorage.getItem(storageKey)) ?? supported(navigator.language) ?? 'en';
  } catch {
    return 'en';
  }
}

export function TextsProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const locale = useMemo<Locale>(
    () => ({
      texts: catalogues[language] ?? en,
      language,
      setLanguage: (wanted) => {
        const chosen = supported(wanted) ?? 'en';
        setLanguage(chosen);
        try {
          localStorage.setItem(storageKey, chosen);
        } catch {
          // Without storage the next visit starts in the language of the browser.
        }
      },
    }),
    [language],
  );
  return <LocaleContext value={locale}>{children}</LocaleContext>;
}

export function useLocale(): Locale {
  const locale = useContext(LocaleContext);
  if (locale === undefined) throw new Error('used outside of TextsProvider');
  return locale;
}

export const useTexts = () => useLocale().texts;
