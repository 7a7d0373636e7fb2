// What failed because the service could not be reached, and is past once it can be.
import type { QueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { ParleyError } from '../../../src/client/parley.ts';
import { useSession } from '../session/session.tsx';
import { onConnectedAgain } from './connection.ts';

function isNetworkFault(error: unknown): boolean {
  return error instanceof ParleyError && error.isNetworkFault;
}

/** Those that failed for that reason. */
export function readFailedAgain(queries: QueryClient): void {
  void queries.refetchQueries({ predicate: ({ state }) => isNetworkFault(state.error) });
}

/** Nobody has to be told any more that something could not be sent; what was to be sent is still there. */
export function useFaultsPast(sending: { readonly error: unknown; readonly reset: () => void }): void {
  const { connection } = useSession();
  const newest = useRef(sending);
  newest.current = sending;
  useEffect(
    () =>
      onConnectedAgain(connection, () => {
        const { error, reset } = newest.current;
        if (isNetworkFault(error)) reset();
      }),
    [connection],
  );
}
