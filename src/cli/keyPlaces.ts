// Where keys are made, listed and revoked: at the service that PARLEY_URL names, or in the database of this machine.
import type { CreatedKey, KeyRecord, NewKey } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import { chooseScopes, issueKey, toRecord } from '../keys/service.ts';
import { listKeys, revokeKey } from '../keys/store.ts';
import { commandName } from '../process/program.ts';
import { ownerName } from '../users/owner.ts';
import { hasOneUser } from '../users/store.ts';
import { connect, isAddressNamed } from './connection.ts';
import { commandLine, withDatabase } from './database.ts';

interface Made {
  readonly key: CreatedKey;
  /** Whether its user is the second one ever. */
  readonly isSecondUser: boolean;
}

interface KeyPlace {
  create(asked: NewKey): Promise<Made>;
  list(): Promise<readonly KeyRecord[]>;
  revoke(id: string): Promise<KeyRecord>;
}

function atService(): KeyPlace {
  const { keys } = connect();
  return {
    create: async (asked) => ({ key: await keys.create(asked), isSecondUser: false }),
    list: async () => (await keys.list()).keys,
    revoke: (id) => keys.revoke(id),
  };
}

const inDatabase: KeyPlace = {
  create: ({ kind = 'session', user: userName = ownerName, name, scopes, expires_at: expires }) => {
    const grant = {
      kind,
      userName,
      name,
      scopes: chooseScopes(kind, scopes),
      expiresAt: expires == null ? null : Date.parse(expires),
      by: commandLine,
    };
    return withDatabase(
      async (database) => {
        const alone = await database.run(hasOneUser, null);
        const key = await issueKey(database, grant);
        return { key, isSecondUser: alone && !(await database.run(hasOneUser, null)) };
      },
      { mayCreate: true },
    );
  },
  list: () => withDatabase(async (database) => (await database.run(listKeys, {})).map(toRecord)),
  revoke: async (id) => {
    const row = await withDatabase((database) => database.run(revokeKey, { id, by: commandLine }));
    if (row === undefined)
      throw new RefusalError(`There is no key of that id; "${commandName} keys list" shows them.`);
    return toRecord(row);
  },
};

export function keyPlace(): KeyPlace {
  return isAddressNamed() ? atService() : inDatabase;
}
