// The settings record of who is signed in, read once for all parts of the page that follow it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { SettingsChange } from '../../../src/client/parley.ts';
import { useParley } from './session.tsx';

const settingsKey = ['settings'];

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
