// The agents that can be chosen. The built-in one goes by several names, and stands first.
import { useQuery } from '@tanstack/react-query';
import { useTexts } from '../texts/texts.tsx';
import { useParley } from './session.tsx';

/** Older clients use them, too. */
const builtinNames: ReadonlySet<string> = new Set(['', 'CodeActAgent', 'builtin']);

export function isBuiltin(name: string | null): boolean {
  return builtinNames.has(name ?? '');
}

/** One name for the built-in agent: the empty one. */
export function agentValue(name: string | null): string {
  return name === null || isBuiltin(name) ? '' : name;
}

/** Until the service has told the others: the built-in one alone. */
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
