// Who is signed in: the key of the tab and the client that sends it.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { createParley, type Parley, ParleyError } from '../../../src/client/parley.ts';
import { type Connection, createConnection } from '../live/connection.ts';
import { forgetDrafts } from './drafts.ts';
import { keepKey, readKey, takeKeyFromAddress } from './key.ts';

/** A failed creation is told of soon: what was typed is still there to be sent again. */
const createForMs = 4_000;
const reconnectMaxMs = 5_000;
const staleMs = 2_000;
const retriesMax = 2;

/** `refused`: the service does not know the key, or no longer. */
export type SignedOut = 'none' | 'refused';

interface Session {
  readonly parley: Parley;
  readonly connection: Connection;
  readonly signOut: () => void;
}

interface Door {
  readonly key: string | undefined;
  readonly why: SignedOut;
  readonly enter: (key: string) => void;
  readonly leave: (why: SignedOut) => void;
}

const DoorContext = createContext<Door | undefined>(undefined);
const SessionContext = createContext<Session | undefined>(undefined);

function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('used outside of its provider');
  return value;
}

export const useDoor = () => given(useContext(DoorContext));
export const useSession = () => given(useContext(SessionContext));
export const useParley = () => useSession().parley;

export function clientFor(key: string): Parley {
  return createParley({ url: '', key, times: { createForMs, reconnectMaxMs } });
}

/** Takes the key from the address, now and whenever a link with one is opened in this tab. */
export function DoorProvider({ children }: { readonly children: ReactNode }) {
  const [{ key, why }, setState] = useState<{ key: string | undefined; why: SignedOut }>(() => {
    const fresh = takeKeyFromAddress();
    if (fresh !== undefined) keepKey(fresh);
    return { key: fresh ?? readKey(), why: 'none' };
  });

  const door = useMemo<Door>(
    () => ({
      key,
      why,
      enter: (fresh) => {
        keepKey(fresh);
        setState({ key: fresh, why: 'none' });
      },
      leave: (reason) => {
        keepKey(undefined);
        setState({ key: undefined, why: reason });
      },
    }),
    [key, why],
  );

  useEffect(() => {
    const look = () => {
      const fresh = takeKeyFromAddress();
      if (fresh !== undefined) door.enter(fresh);
    };
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  }, [door]);

  return <DoorContext value={door}>{children}</DoorContext>;
}

function isRefused(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'unauthorized';
}

function createQueries(onRefused: () => void): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        // The service may well be on this machine: whether there is a network says nothing about it.
        networkMode: 'always',
        staleTime: staleMs,
        retry: (failures, error) =>
          failures < retriesMax &&
          error instanceof ParleyError &&
          (error.isNetworkFault || error.status >= 500),
      },
      mutations: { networkMode: 'always' },
    },
  });
  queries.getQueryCache().subscribe(({ query }) => isRefused(query.state.error) && onRefused());
  queries.getMutationCache().subscribe(({ mutation }) => isRefused(mutation?.state.error) && onRefused());
  return queries;
}

/** What is behind the door. A key that no longer counts leads out again. */
export function SessionProvider({
  apiKey,
  children,
}: {
  readonly apiKey: string;
  readonly children: ReactNode;
}) {
  const { leave } = useDoor();
  const [parley] = useState(() => clientFor(apiKey));
  const [queries] = useState(() => createQueries(() => queueMicrotask(() => leave('refused'))));
  const session = useMemo<Session>(
    () => ({
      parley,
      connection: createConnection(),
      signOut: () => {
        forgetDrafts();
        leave('none');
      },
    }),
    [parley, leave],
  );
  useEffect(() => () => queries.clear(), [queries]);
  return (
    <SessionContext value={session}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </SessionContext>
  );
}
