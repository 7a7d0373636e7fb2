// The words of the page, in the language of the settings.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';

/** Of the languages that settings may name, those that the page speaks. English stands for the others. */
const catalogues: Readonly<Record<string, Texts>> = { en, de };
const stored = 'parley.language';

interface Words {
  readonly texts: Texts;
  /** For dates and numbers. */
  readonly language: string;
  /** Of the settings; null and unknown ones are English. */
  readonly speak: (language: string | null) => void;
}

const WordsContext = createContext<Words | undefined>(undefined);

function known(language: string | null | undefined): string | undefined {
  const name = (language ?? '').toLowerCase().split(/[-_]/, 1)[0] ?? '';
  return Object.hasOwn(catalogues, name) ? name : undefined;
}

/** Before anybody is signed in: that of the last visit, or of the browser. */
function firstLanguage(): string {
  try {
    return known(localStorage.getItem(stored)) ?? known(navigator.language) ?? 'en';
  } catch {
    return 'en';
  }
}

export function TextsProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const words = useMemo<Words>(
    () => ({
      texts: catalogues[language] ?? en,
      language,
      speak: (wanted) => {
        const chosen = known(wanted) ?? 'en';
        setLanguage(chosen);
        try {
          localStorage.setItem(stored, chosen);
        } catch {
          // Only remembered for the next visit.
        }
      },
    }),
    [language],
  );
  return <WordsContext value={words}>{children}</WordsContext>;
}

export function useWords(): Words {
  const words = useContext(WordsContext);
  if (words === undefined) throw new Error('used outside of TextsProvider');
  return words;
}

export const useTexts = () => useWords().texts;
