// Users: who owns settings, keys and conversations.
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';

export interface User {
  readonly id: number;
  readonly name: string;
  readonly created_at: number;
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

/** Whether there is only one user. */
export const hasOneUser = read('users.hasOne', function* (q, _: null): Steps<boolean> {
  return (yield* rows(q.build.selectFrom('users').select('id').limit(2))).length === 1;
});

export const listUsers = read('users.list', function* (q, _: null) {
  return yield* rows(
    q.build
      .selectFrom('users')
      .leftJoin('keys', (join) =>
        join.onRef('keys.user_id', '=', 'users.id').on('keys.revoked_at', 'is', null),
      )
      .select((e) => ['users.id', 'users.name', 'users.created_at', e.fn.count<number>('keys.id').as('keys')])
      .groupBy(['users.id', 'users.name', 'users.created_at'])
      .orderBy('users.name'),
  );
});

export const listUserIds = read('users.listIds', function* (q, _: null): Steps<number[]> {
  return (yield* rows(q.build.selectFrom('users').select('id'))).map(({ id }) => id);
});

export const userTransactions = [ensureUser, findUser, hasOneUser, listUsers, listUserIds];
