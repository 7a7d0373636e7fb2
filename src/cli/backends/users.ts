// Users for the commands: over HTTP if the user named a service, otherwise in the local database.
import type { UserRecord } from '../../accounts/schema.ts';
import { type Accounts, createAccounts } from '../../accounts/service.ts';
import { limitsOfAll } from '../../budgets/limits.ts';
import type { ChangeUser } from '../../client/parley.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../../db/transaction.ts';
import { dependsOnUsers } from '../../outgoing/privateAddresses.ts';
import { hasOneUser } from '../../users/store.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import { commandLine, withDatabase } from './database.ts';

interface UserBackend {
  list(): Promise<readonly UserRecord[]>;
  get(name: string): Promise<UserRecord>;
  /** `turnsOffPrivate` is false over HTTP, where it is not known. */
  create(name: string): Promise<{ readonly user: UserRecord; readonly turnsOffPrivate: boolean }>;
  update(name: string, change: ChangeUser): Promise<UserRecord>;
  remove(name: string): Promise<UserRecord>;
  restore(name: string): Promise<UserRecord>;
}

function atService(): UserBackend {
  const { users } = connect();
  return {
    ...users,
    list: async () => (await users.list()).users,
    create: async (name) => ({ user: await users.create(name), turnsOffPrivate: false }),
  };
}

function openAccounts(database: Database, config: Config): Accounts {
  return createAccounts({
    database,
    // A running service notices the change by itself.
    onChange: () => {},
    removedDays: config.removedUserDays,
    budgetOfAll: limitsOfAll({ day: config.userBudgetDay, month: config.userBudgetMonth }),
  });
}

function use<Out>(work: (accounts: Accounts) => Promise<Out>): Promise<Out> {
  return withDatabase((database, config) => work(openAccounts(database, config)));
}

const inDatabase: UserBackend = {
  list: () => use((accounts) => accounts.list()),
  get: (name) => use((accounts) => accounts.get(name)),
  create: (name) =>
    withDatabase(
      async (database, config) => {
        const isAlone = await database.run(hasOneUser, null);
        const user = await openAccounts(database, config).create(commandLine, name);
        return { user, turnsOffPrivate: isAlone && dependsOnUsers(config) };
      },
      { mayCreate: true },
    ),
  update: (name, change) => use((accounts) => accounts.update(commandLine, name, change)),
  remove: (name) => use((accounts) => accounts.remove(commandLine, name)),
  restore: (name) => use((accounts) => accounts.restore(commandLine, name)),
};

export function userBackend(): UserBackend {
  return isServiceNamed() ? atService() : inDatabase;
}
