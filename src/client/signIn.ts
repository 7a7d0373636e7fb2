// Calls about signing in with an OpenID Connect provider, and about sessions.
import type { CallOptions } from './conversations.ts';
import { type Connection, requestJson } from './request.ts';
import type {
  EndedSessions,
  IdentityList,
  IdentityRecord,
  NewIdentity,
  SessionList,
  SignedIn,
  SignInAnswer,
  SignInProvider,
  StartedSignIn,
} from './types.ts';

/** These need no API key. */
export function signInCalls(connection: Connection) {
  return {
    /** Returns the provider; null if people can only sign in with API keys. */
    provider: ({ signal }: CallOptions = {}): Promise<SignInProvider> =>
      requestJson<SignInProvider>(connection, '/api/sign-in', { signal }),
    start: ({ signal }: CallOptions = {}): Promise<StartedSignIn> =>
      requestJson<StartedSignIn>(connection, '/api/sign-in', { method: 'POST', signal }),
    /** Only this response contains the token of the session. */
    finish: (answer: SignInAnswer, { signal }: CallOptions = {}): Promise<SignedIn> =>
      requestJson<SignedIn>(connection, '/api/sign-in/finish', { method: 'POST', body: answer, signal }),
  };
}

export function sessionCalls(connection: Connection) {
  const end = async (path: string, { signal }: CallOptions): Promise<number> =>
    (await requestJson<EndedSessions>(connection, path, { method: 'DELETE', signal })).ended;
  return {
    list: ({ signal }: CallOptions = {}): Promise<SessionList> =>
      requestJson<SessionList>(connection, '/api/sessions', { signal }),
    /** Returns how many sessions were ended, like the next ones. */
    end: (id: string, options: CallOptions = {}): Promise<number> =>
      end(`/api/sessions/${encodeURIComponent(id)}`, options),
    /** Ends all sessions of the current user, also the current one. */
    endAll: (options: CallOptions = {}): Promise<number> => end('/api/sessions', options),
    /** For administrators. */
    endAllOf: (user: string, options: CallOptions = {}): Promise<number> =>
      end(`/api/users/${encodeURIComponent(user)}/sessions`, options),
  };
}

/** Accounts at the provider that are linked to users, for administrators. */
export function identityCalls(connection: Connection) {
  const path = (user: string, rest = '') => `/api/users/${encodeURIComponent(user)}/identities${rest}`;
  return {
    list: (user: string, { signal }: CallOptions = {}): Promise<IdentityList> =>
      requestJson<IdentityList>(connection, path(user), { signal }),
    link: (user: string, identity: NewIdentity, { signal }: CallOptions = {}): Promise<IdentityRecord> =>
      requestJson<IdentityRecord>(connection, path(user), { method: 'POST', body: identity, signal }),
    /** Sessions of that account end. */
    unlink: (user: string, id: string, { signal }: CallOptions = {}): Promise<IdentityRecord> =>
      requestJson<IdentityRecord>(connection, path(user, `/${encodeURIComponent(id)}`), {
        method: 'DELETE',
        signal,
      }),
  };
}
