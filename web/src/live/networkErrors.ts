// Clears errors that are over when the service can be reached again.
import type { QueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ParleyError } from '../../../src/client/parley.ts';
import { useSession } from '../session/session.tsx';
import { onReconnected } from './connection.ts';

function isNetworkFault(error: unknown): boolean {
  return error instanceof ParleyError && error.isNetworkFault;
}

export function refetchFailedQueries(queries: QueryClient): void {
  void queries.refetchQueries({ predicate: ({ state }) => isNetworkFault(state.error) });
}

/** Hides the network error of a mutation when the connection is restored. The user can then try again. */
export function useClearNetworkErrors(mutation: {
  readonly error: unknown;
  readonly reset: () => void;
}): void {
  const { connection } = useSession();
  const newest = useRef(mutation);
  newest.current = mutation;
  useEffect(
    () =>
      onReconnected(connection, () => {
        const { error, reset } = newest.current;
        if (isNetworkFault(error)) reset();
      }),
    [connection],
  );
}
