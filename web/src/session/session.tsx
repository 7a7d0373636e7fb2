// The sign-in state of this tab, and the session of the signed-in user: their API client and query cache.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { createParley, type Parley, ParleyError } from '../../../src/client/parley.ts';
import { type Connection, createConnection } from '../live/connection.ts';
import { readKey, sessionIdOf, storeKey, takeKeyFromUrl } from './apiKey.ts';
import { draftOwner } from './drafts.ts';
import { staySignedOut, useOtherTabs } from './otherTabs.ts';
import { takeProviderAnswer } from './providerSignIn.ts';
import {
  linkOpened,
  offerAnswered,
  otherTabsAnswered,
  returnedFromProvider,
  type SignInState,
  type SignOut,
  signedInWith,
  signedOut,
} from './signInState.ts';

/** A failed creation is reported soon: the text is still in the form and can be sent again. */
const createForMs = 4_000;
const reconnectMaxMs = 5_000;
const staleMs = 2_000;
const retriesMax = 2;

interface Session {
  readonly parley: Parley;
  readonly connection: Connection;
  readonly signOut: () => void;
  /** Call this when the service no longer accepts the key of this session. */
  readonly keyRejected: () => void;
  /** The same in all tabs that use this key. Needs a secure context. */
  readonly keyDigest: () => Promise<string>;
}

interface SignIn extends SignInState {
  /** `isDraftOwner`: the user who wrote the drafts of this tab has returned. */
  readonly signIn: (key: string, isDraftOwner?: boolean) => void;
  readonly answerOffer: (isAccepted: boolean) => void;
  /** The service does not accept the answer of the sign-in provider. */
  readonly answerRefused: (error: unknown) => void;
  readonly signOut: (signOut: SignOut) => void;
}

const SignInContext = createContext<SignIn | undefined>(undefined);
const SessionContext = createContext<Session | undefined>(undefined);

function requireProvider<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('used outside of its provider');
  return value;
}

export const useSignIn = () => requireProvider(useContext(SignInContext));
export const useSession = () => requireProvider(useContext(SessionContext));
export const useParley = () => useSession().parley;

export function clientFor(key: string): Parley {
  return createParley({ url: '', key, times: { createForMs, reconnectMaxMs } });
}

/** Deletes the drafts of this tab when another user signs in. */
function guardDrafts(before: SignInState, after: SignInState, isDraftOwner?: boolean): SignInState {
  if (after.key !== undefined && after.key !== before.key) draftOwner.signedIn(after.key, isDraftOwner);
  return after;
}

function initialState(): SignInState {
  const stored = returnedFromProvider(signedInWith(readKey()), takeProviderAnswer());
  const linkKey = takeKeyFromUrl();
  return linkKey === undefined ? stored : guardDrafts(stored, linkOpened(stored, linkKey));
}

/** Each action reads and changes the state at once, without waiting for a render. */
function useSignInState() {
  const [state, setState] = useState(initialState);
  const newest = useRef(state);
  const actions = useMemo(() => {
    function change(after: SignInState, isDraftOwner?: boolean): void {
      newest.current = guardDrafts(newest.current, after, isDraftOwner);
      setState(after);
    }
    return {
      signIn: (key: string, isDraftOwner?: boolean) => change(signedInWith(key), isDraftOwner),
      openLink: (key: string) => change(linkOpened(newest.current, key)),
      otherTabsAnswered: (keys: ReadonlySet<string>) => change(otherTabsAnswered(newest.current, keys)),
      answerOffer: (isAccepted: boolean) => change(offerAnswered(newest.current, isAccepted)),
      answerRefused: (answerError: unknown) => change({ ...signedInWith(undefined), answerError }),
      signOut: (signOut: SignOut) => {
        const { key, reason } = signOut;
        if (newest.current.key === key && reason === 'refused') draftOwner.keepDraftsFor(key);
        change(signedOut(newest.current, signOut));
      },
    };
  }, []);
  return { state, actions };
}

/** Takes the key out of the URL, now and whenever a link with a key is opened in this tab. */
export function SignInProvider({ children }: { readonly children: ReactNode }) {
  const { state, actions } = useSignInState();
  useEffect(() => storeKey(state.key), [state.key]);

  useEffect(() => {
    const onHashChange = () => {
      const key = takeKeyFromUrl();
      if (key !== undefined) actions.openLink(key);
    };
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, [actions]);

  useOtherTabs(state, actions);
  const signIn = useMemo<SignIn>(() => ({ ...state, ...actions }), [state, actions]);
  return <SignInContext value={signIn}>{children}</SignInContext>;
}

/** Whether the service does not accept the key, or no longer does. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof ParleyError && error.code === 'unauthorized';
}

function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // The service may run on this machine, where it can be reached without a network.
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

async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Calls back when any request is answered with 401. Returns the function that stops watching. */
function watchUnauthorized(queries: QueryClient, onUnauthorized: () => void): () => void {
  const check = (error: unknown) => isUnauthorized(error) && queueMicrotask(onUnauthorized);
  const ends = [
    queries.getQueryCache().subscribe(({ query }) => check(query.state.error)),
    queries.getMutationCache().subscribe(({ mutation }) => check(mutation?.state.error)),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** The session of one API key. It signs the user out when the service no longer accepts the key. */
export function SessionProvider({
  apiKey,
  children,
}: {
  readonly apiKey: string;
  readonly children: ReactNode;
}) {
  const { signOut } = useSignIn();
  const [parley] = useState(() => clientFor(apiKey));
  const [queries] = useState(createQueryClient);
  const session = useMemo<Session>(
    () => ({
      parley,
      connection: createConnection(),
      signOut: () => {
        const id = sessionIdOf(apiKey);
        // If this fails, the session ends when it expires; nobody has its token any more.
        if (id !== undefined) parley.sessions.end(id).catch(() => undefined);
        draftOwner.deleteDrafts();
        staySignedOut();
        signOut({ key: apiKey, reason: 'none' });
      },
      keyRejected: () => signOut({ key: apiKey, reason: 'refused' }),
      keyDigest: () => digestOf(apiKey),
    }),
    [parley, signOut, apiKey],
  );
  useEffect(() => {
    const end = watchUnauthorized(queries, session.keyRejected);
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
