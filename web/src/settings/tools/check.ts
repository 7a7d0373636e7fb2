// Trying tool servers out: what came of it, by server, until something about them changes.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { CheckedServer, McpConfig, Settings } from '../../../../src/client/parley.ts';
import { useParley } from '../../session/session.tsx';
import { type PlacedServer, placeId } from './servers.ts';

type Results = ReadonlyMap<string, CheckedServer>;

export function useCheck(config: Settings['mcp_config']) {
  const parley = useParley();
  const [{ of, results }, setState] = useState<{ of: unknown; results: Results }>({
    of: config,
    results: new Map(),
  });
  const known: Results = of === config ? results : new Map();
  const checking = useMutation({
    mutationFn: async (one: PlacedServer | undefined) => {
      // One alone, where a mask can only mean its own key; else all that are stored.
      const asked = one && ({ [one.kind]: [one.server] } as McpConfig);
      const { servers } = await parley.mcp.check(asked);
      return servers.map((checked): [string, CheckedServer] => [
        one?.id ?? placeId({ kind: checked.list, index: checked.index }),
        checked,
      ]);
    },
    onSuccess: (fresh) => setState({ of: config, results: new Map([...known, ...fresh]) }),
  });
  const { isPending, variables, error } = checking;
  return {
    error,
    busy: isPending,
    isChecking: (id: string) => isPending && (variables === undefined || variables.id === id),
    resultOf: (id: string) => known.get(id),
    checkOne: (one: PlacedServer) => !isPending && checking.mutate(one),
    checkAll: () => !isPending && checking.mutate(undefined),
  };
}
