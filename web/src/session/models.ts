// The names of known models, as suggestions. Any other name can be typed as well.
import { useQuery } from '@tanstack/react-query';
import { useParley } from './session.tsx';

/** Undefined until the service has listed them. */
export function useModelNames(): readonly string[] | undefined {
  const parley = useParley();
  const { data } = useQuery({
    queryKey: ['options', 'models'],
    queryFn: ({ signal }) => parley.options.models({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Names with this prefix are for existing clients, and mean models that are in the list as well.
  return data?.filter((name) => !name.startsWith('openhands/'));
}
