// Users: who owns settings, keys and conversations.
import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../db/tables.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';
import { defaultsName, ownerName } from './owner.ts';

export interface User {
  readonly id: number;
  readonly name: string;
  readonly created_at: number;
  readonly disabled_at: number | null;
  readonly removed_at: number | null;
}

/** Whether the user may log in. */
export function isActive({ disabled_at, removed_at }: Pick<User, 'disabled_at' | 'removed_at'>): boolean {
  return disabled_at === null && removed_at === null;
}

/** The same in SQL. */
export function whereActive(e: ExpressionBuilder<Pick<Tables, 'users'>, 'users'>) {
  return e.and([e('users.disabled_at', 'is', null), e('users.removed_at', 'is', null)]);
}

/** Locks all changes of users and of their accounts at the sign-in provider until the transaction ends. */
export function* lockAccounts(q: Queries): Steps<void> {
  yield* rows(q.build.updateTable('users').set({ name: ownerName }).where('name', '=', ownerName));
}

/** Finds or creates the user of that name. */
export function* ensureUserSteps(q: Queries, name: string): Steps<User> {
  yield* rows(
    q.build
      .insertInto('users')
      .values({ name, created_at: q.now })
      .onConflict((c) => c.column('name').doNothing()),
  );
  const user = yield* one(q.build.selectFrom('users').selectAll().where('name', '=', name));
  if (user === undefined) throw new Error('the user that was just created does not exist');
  return user;
}

export const ensureUser = repeatableWrite('users.ensure', ensureUserSteps);

export const findUser = read('users.find', function* (q, name: string): Steps<User | undefined> {
  return yield* one(q.build.selectFrom('users').selectAll().where('name', '=', name));
});

/** Undefined if there is no such user. */
export const findActivity = read('users.findActivity', function* (q, id: number): Steps<boolean | undefined> {
  const user = yield* one(
    q.build.selectFrom('users').select(['disabled_at', 'removed_at']).where('id', '=', id),
  );
  return user && isActive(user);
});

/** Whether there is only one user. A user counts until nothing of theirs is left. */
export const hasOneUser = read('users.hasOne', function* (q, _: null): Steps<boolean> {
  const people = q.build
    .selectFrom('users')
    .select('id')
    .where('purged_at', 'is', null)
    .where('name', '<>', defaultsName);
  return (yield* rows(people.limit(2))).length === 1;
});

export const listUserIds = read('users.listIds', function* (q, _: null): Steps<number[]> {
  const living = q.build.selectFrom('users').select('id').where('purged_at', 'is', null);
  return (yield* rows(living)).map(({ id }) => id);
});

export const userTransactions = [ensureUser, findUser, findActivity, hasOneUser, listUserIds];
