// Trying tool servers out: what came of it, by server, until something about them changes.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { CheckedServer, McpConfig, Settings } from '../../../../src/client/parley.ts';
import { useParley } from '../../session/session.tsx';
import { listServers, type PlacedServer } from './servers.ts';

type Config = Settings['mcp_config'];
type Results = ReadonlyMap<string, CheckedServer>;

interface Asked {
  /** As the servers were when it was asked. */
  readonly config: Config;
  /** One alone, where a mask can only mean its own key; else all that are stored. */
  readonly one: PlacedServer | undefined;
}

function resultsById({ config, one }: Asked, checked: readonly CheckedServer[]): [string, CheckedServer][] {
  const placed = listServers(config);
  return checked.flatMap((result): [string, CheckedServer][] => {
    const found = one ?? placed.find(({ kind, index }) => kind === result.list && index === result.index);
    return found === undefined ? [] : [[found.id, result]];
  });
}

export function useCheck(config: Config) {
  const parley = useParley();
  const [{ of, results }, setState] = useState<{ of: Config; results: Results }>({
    of: config,
    results: new Map(),
  });
  const newest = useRef(config);
  newest.current = config;
  const known: Results = of === config ? results : new Map();
  const checking = useMutation({
    mutationFn: async (asked: Asked) => {
      const { one } = asked;
      const { servers } = await parley.mcp.check(one && ({ [one.kind]: [one.server] } as McpConfig));
      return resultsById(asked, servers);
    },
    onSuccess: (fresh, asked) => {
      // Of servers that have changed meanwhile it says nothing.
      if (asked.config === newest.current)
        setState({ of: asked.config, results: new Map([...known, ...fresh]) });
    },
  });
  const { isPending, variables, error } = checking;
  return {
    error,
    busy: isPending,
    isChecking: (id: string) => isPending && (variables.one === undefined || variables.one.id === id),
    resultOf: (id: string) => known.get(id),
    checkOne: (one: PlacedServer) => !isPending && checking.mutate({ config, one }),
    checkAll: () => !isPending && checking.mutate({ config, one: undefined }),
  };
}
