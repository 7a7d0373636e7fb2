// Checks MCP servers, and keeps each result until the servers change.
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { CheckedServer, McpConfig, Settings } from '../../../../src/client/parley.ts';
import { useParley } from '../../session/session.tsx';
import { type ListedServer, listServers } from './servers.ts';

type Config = Settings['mcp_config'];
type Results = ReadonlyMap<string, CheckedServer>;

interface CheckRequest {
  /** The servers at the time of the request. */
  readonly config: Config;
  /** Undefined checks all stored servers. */
  readonly one: ListedServer | undefined;
}

function resultsById(
  { config, one }: CheckRequest,
  checked: readonly CheckedServer[],
): [string, CheckedServer][] {
  const listed = listServers(config);
  return checked.flatMap((result): [string, CheckedServer][] => {
    const found = one ?? listed.find(({ kind, index }) => kind === result.list && index === result.index);
    return found === undefined ? [] : [[found.id, result]];
  });
}

export function useServerCheck(config: Config) {
  const parley = useParley();
  const [{ of, results }, setState] = useState<{ of: Config; results: Results }>({
    of: config,
    results: new Map(),
  });
  const newest = useRef(config);
  newest.current = config;
  const known: Results = of === config ? results : new Map();
  const checking = useMutation({
    mutationFn: async (request: CheckRequest) => {
      const { one } = request;
      const { servers } = await parley.mcp.check(one && ({ [one.kind]: [one.server] } as McpConfig));
      return resultsById(request, servers);
    },
    onSuccess: (fresh, request) => {
      // The result does not apply to servers that have changed meanwhile.
      if (request.config === newest.current)
        setState({ of: request.config, results: new Map([...known, ...fresh]) });
    },
  });
  const { isPending, variables, error } = checking;
  return {
    error,
    busy: isPending,
    isChecking: (id: string) => isPending && (variables.one === undefined || variables.one.id === id),
    resultOf: (id: string) => known.get(id),
    checkOne: (one: ListedServer) => !isPending && checking.mutate({ config, one }),
    checkAll: () => !isPending && checking.mutate({ config, one: undefined }),
  };
}
