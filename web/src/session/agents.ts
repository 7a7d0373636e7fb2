// The agents that the user can choose. The built-in one has several names and comes first.
import { useQuery } from '@tanstack/react-query';
import { useTexts } from '../texts/texts.tsx';
import { isBuiltin } from './agentNames.ts';
import { useParley } from './session.tsx';

/** Offers only the built-in agent until the service has listed the others. */
export function useAgentChoices(): readonly { readonly value: string; readonly label: string }[] {
  const { home } = useTexts();
  const parley = useParley();
  const { data: names = [] } = useQuery({
    queryKey: ['options', 'agents'],
    queryFn: ({ signal }) => parley.options.agents({ signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const others = names.filter((name) => !isBuiltin(name)).map((name) => ({ value: name, label: name }));
  return [{ value: '', label: home.builtin }, ...others];
}
