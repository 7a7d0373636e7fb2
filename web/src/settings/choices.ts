// What can be chosen: the lists of the service, and the languages that settings know.
import { useQuery } from '@tanstack/react-query';
import type { Parley } from '../../../src/client/parley.ts';
import { useParley } from '../session/session.tsx';

export function useNames(list: keyof Parley['options']): readonly string[] | undefined {
  const parley = useParley();
  return useQuery({
    queryKey: ['options', list],
    queryFn: ({ signal }) => parley.options[list]({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
}

/** Each in its own words, for whoever looks for it. */
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
