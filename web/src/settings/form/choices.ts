// The choices of select fields: names that the service lists, and the languages of the settings.
import { useQuery } from '@tanstack/react-query';
import type { Parley } from '../../../../src/client/parley.ts';
import { useParley } from '../../session/session.tsx';

export function useOptionNames(list: keyof Parley['options']): readonly string[] | undefined {
  const parley = useParley();
  return useQuery({
    queryKey: ['options', list],
    queryFn: ({ signal }) => parley.options[list]({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
}

/** Each language has its own name for itself. */
export const languages: readonly { readonly value: string; readonly label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'Deutsch' },
  { value: 'es', label: 'Español' },
  { value: 'fr', label: 'Français' },
  { value: 'it', label: 'Italiano' },
  { value: 'no', label: 'Norsk' },
  { value: 'pt', label: 'Português' },
  { value: 'tr', label: 'Türkçe' },
  { value: 'uk', label: 'Українська' },
  { value: 'ar', label: 'العربية' },
  { value: 'ja', label: '日本語' },
  { value: 'ko-KR', label: '한국어' },
  { value: 'zh-CN', label: '简体中文' },
  { value: 'zh-TW', label: '繁體中文' },
];
