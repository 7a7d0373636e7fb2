// Linked accounts and sessions of users: over HTTP if the user named a service, otherwise in the local database.
import { configuredIssuer } from '../../signIn/configured.ts';
import { createIdentities, type Identities } from '../../signIn/identityService.ts';
import type { IdentityRecord, NewIdentity } from '../../signIn/schema.ts';
import { createSessions } from '../../signIn/sessionService.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import { commandLine, withDatabase } from './database.ts';

interface UserAccountBackend {
  list(user: string): Promise<readonly IdentityRecord[]>;
  link(user: string, identity: NewIdentity): Promise<IdentityRecord>;
  unlink(user: string, id: string): Promise<IdentityRecord>;
  /** Returns how many sessions were ended. */
  signOut(user: string): Promise<number>;
}

function atService(): UserAccountBackend {
  const { identities, sessions } = connect();
  return {
    list: async (user) => (await identities.list(user)).identities,
    link: (user, identity) => identities.link(user, identity),
    unlink: (user, id) => identities.unlink(user, id),
    signOut: (user) => sessions.endAllOf(user),
  };
}

/** A running service notices the change by itself. */
const noCache = { forget: () => {}, forgetAll: () => {}, flushUses: async () => {} };

function use<Out>(work: (identities: Identities) => Promise<Out>): Promise<Out> {
  return withDatabase((database, config) =>
    work(createIdentities({ database, issuer: configuredIssuer(config), onChange: () => {} })),
  );
}

const inDatabase: UserAccountBackend = {
  list: (user) => use((identities) => identities.list(user)),
  link: (user, identity) => use((identities) => identities.link(commandLine, user, identity)),
  unlink: (user, id) => use((identities) => identities.unlink(commandLine, user, id)),
  signOut: (user) =>
    withDatabase(async (database) => {
      const sessions = createSessions({ database, keys: noCache, onBackgroundError: () => {} });
      try {
        return (await sessions.endAllOfUser(commandLine, user)).ended;
      } finally {
        await sessions.close();
      }
    }),
};

export function userAccountBackend(): UserAccountBackend {
  return isServiceNamed() ? atService() : inDatabase;
}
