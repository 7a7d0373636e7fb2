// Who is signed in, and their settings record, read once for all parts of the page that follow it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { SettingsChange } from '../../../src/client/parley.ts';
import { useParley } from './session.tsx';

const settingsKey = ['settings'];

/** Whose key this tab has. */
export function useMe() {
  const parley = useParley();
  return useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => parley.keys.me({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useSettings() {
  const parley = useParley();
  return useQuery({
    queryKey: settingsKey,
    queryFn: ({ signal }) => parley.settings.get({ signal }),
    staleTime: 30_000,
  });
}

/** Changes what is named, and nothing else; all parts of the page see the new record at once. */
export function useSettingsUpdate() {
  const parley = useParley();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: SettingsChange) => parley.settings.update(change),
    onSuccess: (settings) => queries.setQueryData(settingsKey, settings),
  });
}
