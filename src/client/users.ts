// Calls about users, for administrators.
import type { CallOptions } from './conversations.ts';
import { type Connection, requestJson } from './request.ts';
import type { ChangeUser, UserList, UserRecord } from './types.ts';

/** The API key needs the scope admin. */
export function userCalls(connection: Connection) {
  const path = (name: string, rest = '') => `/api/users/${encodeURIComponent(name)}${rest}`;
  return {
    /** Removed users are included until their data is deleted. */
    list: ({ signal }: CallOptions = {}): Promise<UserList> =>
      requestJson<UserList>(connection, '/api/users', { signal }),
    get: (name: string, { signal }: CallOptions = {}): Promise<UserRecord> =>
      requestJson<UserRecord>(connection, path(name), { signal }),
    create: (name: string, { signal }: CallOptions = {}): Promise<UserRecord> =>
      requestJson<UserRecord>(connection, '/api/users', { method: 'POST', body: { name }, signal }),
    /** Renames, disables or enables a user, or sets a budget. */
    update: (name: string, change: ChangeUser, { signal }: CallOptions = {}): Promise<UserRecord> =>
      requestJson<UserRecord>(connection, path(name), { method: 'PATCH', body: change, signal }),
    /** The user can be restored until `purge_at`. */
    remove: (name: string, { signal }: CallOptions = {}): Promise<UserRecord> =>
      requestJson<UserRecord>(connection, path(name), { method: 'DELETE', signal }),
    restore: (name: string, { signal }: CallOptions = {}): Promise<UserRecord> =>
      requestJson<UserRecord>(connection, path(name, '/restore'), { method: 'POST', signal }),
  };
}
