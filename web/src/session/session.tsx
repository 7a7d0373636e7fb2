// Who is signed in: the key of the tab and the client that sends it.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { createParley, type Parley, ParleyError } from '../../../src/client/parley.ts';
import { type Connection, createConnection } from '../live/connection.ts';
import { answered, type DoorState, entered, heard, left, offered } from './door.ts';
import { typist } from './drafts.ts';
import { keepKey, readKey, takeKeyFromAddress } from './key.ts';
import { stayOut, useOtherTabs } from './otherTabs.ts';

/** A failed creation is told of soon: what was typed is still there to be sent again. */
const createForMs = 4_000;
const reconnectMaxMs = 5_000;
const staleMs = 2_000;
const retriesMax = 2;

interface Session {
  readonly parley: Parley;
  readonly connection: Connection;
  readonly signOut: () => void;
  /** The key of this session no longer counts. */
  readonly refused: () => void;
}

interface Door extends DoorState {
  /** `isBack`: they are the one who was led out before. */
  readonly enter: (key: string, isBack?: boolean) => void;
  /** Whether the key that is offered takes the place of this one. */
  readonly answer: (wanted: boolean) => void;
  readonly leave: (by: { readonly key: string; readonly why: DoorState['why'] }) => void;
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

/** Whoever comes in by another key than before finds nothing that was typed before. */
function passed(before: DoorState, after: DoorState, isBack?: boolean): DoorState {
  if (after.key !== undefined && after.key !== before.key) typist.cameIn(after.key, isBack);
  return after;
}

function firstState(): DoorState {
  const kept = entered(readKey());
  const fresh = takeKeyFromAddress();
  return fresh === undefined ? kept : passed(kept, offered(kept, fresh));
}

/** The state, and the ways to change it, each of which ends what it does before anything is drawn. */
function useDoorState() {
  const [state, setState] = useState(firstState);
  const newest = useRef(state);
  const ways = useMemo(() => {
    function change(after: DoorState, isBack?: boolean): void {
      newest.current = passed(newest.current, after, isBack);
      setState(after);
    }
    return {
      enter: (key: string, isBack?: boolean) => change(entered(key), isBack),
      offer: (key: string) => change(offered(newest.current, key)),
      heard: (keys: ReadonlySet<string>) => change(heard(newest.current, keys)),
      answer: (wanted: boolean) => change(answered(newest.current, wanted)),
      leave: (by: Parameters<Door['leave']>[0]) => {
        if (newest.current.key === by.key && by.why === 'refused') typist.ledOut(by.key);
        change(left(newest.current, by));
      },
    };
  }, []);
  return { state, ways };
}

/** Takes the key from the address, now and whenever a link with one is opened in this tab. */
export function DoorProvider({ children }: { readonly children: ReactNode }) {
  const { state, ways } = useDoorState();
  useEffect(() => keepKey(state.key), [state.key]);

  useEffect(() => {
    const look = () => {
      const fresh = takeKeyFromAddress();
      if (fresh !== undefined) ways.offer(fresh);
    };
    addEventListener('hashchange', look);
    return () => removeEventListener('hashchange', look);
  }, [ways]);

  useOtherTabs(state, ways);
  const door = useMemo<Door>(() => ({ ...state, ...ways }), [state, ways]);
  return <DoorContext value={door}>{children}</DoorContext>;
}

/** Whether the key does not count, or no longer. */
export function isRefused(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'unauthorized';
}

function createQueries(): QueryClient {
  return new QueryClient({
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
}

/** Gives what ends it. */
function watchRefusals(queries: QueryClient, onRefused: () => void): () => void {
  const look = (error: unknown) => isRefused(error) && queueMicrotask(onRefused);
  const ends = [
    queries.getQueryCache().subscribe(({ query }) => look(query.state.error)),
    queries.getMutationCache().subscribe(({ mutation }) => look(mutation?.state.error)),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** What is behind the door. A key that no longer counts leads out again. */
export function SessionProvider({
  sessionKey,
  children,
}: {
  readonly sessionKey: string;
  readonly children: ReactNode;
}) {
  const { leave } = useDoor();
  const [parley] = useState(() => clientFor(sessionKey));
  const [queries] = useState(createQueries);
  const session = useMemo<Session>(
    () => ({
      parley,
      connection: createConnection(),
      signOut: () => {
        typist.forget();
        stayOut();
        leave({ key: sessionKey, why: 'none' });
      },
      refused: () => leave({ key: sessionKey, why: 'refused' }),
    }),
    [parley, leave, sessionKey],
  );
  useEffect(() => {
    const end = watchRefusals(queries, session.refused);
    return () => {
      end();
      queries.clear();
    };
  }, [queries, session]);
  return (
    <SessionContext value={session}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </SessionContext>
  );
}
