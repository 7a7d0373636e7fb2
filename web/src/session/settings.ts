// Queries for the signed-in user and their settings record, which all components share.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { SettingsChange } from '../../../src/client/parley.ts';
import { useParley } from './session.tsx';

const settingsKey = ['settings'];

/** The user of this tab, and the name of their key. */
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

/** Changes only the given fields. All components see the new record at once. */
export function useSettingsUpdate() {
  const parley = useParley();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: SettingsChange) => parley.settings.update(change),
    onSuccess: (settings) => queries.setQueryData(settingsKey, settings),
  });
}

/** Reads the settings record again, after a change that was made through another route. */
export function useSettingsRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: settingsKey });
}
