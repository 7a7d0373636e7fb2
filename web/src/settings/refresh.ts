// Reads the settings record again after something was changed that is only shown in it.
import { useQueryClient } from '@tanstack/react-query';

export function useSettingsRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['settings'] });
}
