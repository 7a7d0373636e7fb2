// Keys for the commands: over HTTP if the user named a service, otherwise in the local database.
import type { CreatedKey, KeyRecord, NewKey } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { chooseScopes, issueKey, toRecord } from '../../keys/issue.ts';
import { listKeys, revokeKey } from '../../keys/store.ts';
import { dependsOnUsers } from '../../outgoing/privateAddresses.ts';
import { commandName } from '../../process/program.ts';
import { ownerName } from '../../users/owner.ts';
import { hasOneUser } from '../../users/store.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import { commandLine, withDatabase } from './database.ts';

interface Creation {
  readonly key: CreatedKey;
  /** Whether the key created the second user, and private addresses are therefore off from now on. */
  readonly turnsOffPrivate: boolean;
}

interface KeyBackend {
  create(key: NewKey): Promise<Creation>;
  list(): Promise<readonly KeyRecord[]>;
  revoke(id: string): Promise<KeyRecord>;
}

function atService(): KeyBackend {
  const { keys } = connect();
  return {
    create: async (key) => ({ key: await keys.create(key), turnsOffPrivate: false }),
    list: async () => (await keys.list()).keys,
    revoke: (id) => keys.revoke(id),
  };
}

const inDatabase: KeyBackend = {
  create: ({ kind = 'session', user: userName = ownerName, name, scopes, expires_at: expires, bearer }) => {
    const grant = {
      kind,
      owner: { name: userName },
      name,
      scopes: chooseScopes(kind, scopes),
      expiresAt: expires == null ? null : Date.parse(expires),
      bearer: bearer ?? false,
      by: commandLine,
    };
    return withDatabase(
      async (database, config) => {
        const alone = await database.run(hasOneUser, null);
        const key = await issueKey(database, grant);
        const isSecond = alone && !(await database.run(hasOneUser, null));
        return { key, turnsOffPrivate: isSecond && dependsOnUsers(config) };
      },
      { mayCreate: true },
    );
  },
  list: () => withDatabase(async (database) => (await database.run(listKeys, {})).map(toRecord)),
  revoke: async (id) => {
    const row = await withDatabase((database) => database.run(revokeKey, { id, by: commandLine }));
    if (row === undefined)
      throw new RefusalError(`There is no key with that id; "${commandName} keys list" shows them.`);
    return toRecord(row);
  },
};

export function keyBackend(): KeyBackend {
  return isServiceNamed() ? atService() : inDatabase;
}
