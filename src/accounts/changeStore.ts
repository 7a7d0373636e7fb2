// Changes users. One change runs at a time, so that two administrators cannot disable each other.
import { sql } from 'kysely';
import { type AuditAction, recordAudit } from '../audit/store.ts';
import type { BudgetColumns } from '../budgets/limits.ts';
import { setBudgetSteps } from '../budgets/store.ts';
import { one, type Queries, rows, type Steps, write } from '../db/transaction.ts';
import { endSessionSteps } from '../keys/sessionStore.ts';
import { ownerName } from '../users/owner.ts';
import { isActive, lockAccounts, whereActive } from '../users/store.ts';
import { type AccountRow, type Author, findAccountSteps, isAdmin } from './store.ts';

export const accountChanges = ['disable', 'enable', 'remove', 'restore'] as const;
export type AccountChange = (typeof accountChanges)[number];

export type AccountFault = 'missing' | 'removed' | 'exists' | 'owner' | 'last_admin';

/** Whether an administrator is left who is not this user. */
function* hasOtherAdmin(q: Queries, userId: number): Steps<boolean> {
  const others = q.build.selectFrom('users').select('id').where('id', '<>', userId).where(whereActive);
  const admin = others.where((e) =>
    e.or([
      e('name', '=', ownerName),
      e.exists(
        e
          .selectFrom('keys')
          .select('keys.id')
          .whereRef('keys.user_id', '=', 'users.id')
          .where('keys.kind', '=', 'session')
          .where('keys.revoked_at', 'is', null)
          .where('keys.scopes', 'like', sql.lit('%"admin"%'))
          .where((k) => k.or([k('keys.expires_at', 'is', null), k('keys.expires_at', '>', q.now)])),
      ),
    ]),
  );
  return (yield* one(admin.limit(1))) !== undefined;
}

const isDone: Readonly<Record<AccountChange, (row: AccountRow) => boolean>> = {
  disable: ({ disabled_at }) => disabled_at !== null,
  enable: ({ disabled_at }) => disabled_at === null,
  remove: ({ removed_at }) => removed_at !== null,
  restore: ({ removed_at }) => removed_at === null,
};

function* findFault(q: Queries, row: AccountRow, change: AccountChange): Steps<AccountFault | undefined> {
  if (change === 'enable' || change === 'disable') {
    if (row.removed_at !== null) return 'removed';
  } else if (row.name === ownerName) return 'owner';
  const endsAccess = (change === 'disable' || change === 'remove') && isActive(row);
  if (endsAccess && isAdmin(row) && !(yield* hasOtherAdmin(q, row.id))) return 'last_admin';
  return undefined;
}

function columnsOf(q: Queries, change: AccountChange) {
  switch (change) {
    case 'disable':
      return { disabled_at: q.now };
    case 'enable':
      return { disabled_at: null };
    case 'remove':
      return { removed_at: q.now };
    case 'restore':
      return { removed_at: null };
  }
}

/** Does nothing if the user is in that state already. Returns undefined if it was done. */
function* changeSteps(
  q: Queries,
  row: AccountRow,
  { change, by }: { change: AccountChange; by: string },
): Steps<AccountFault | undefined> {
  if (isDone[change](row)) return undefined;
  const fault = yield* findFault(q, row, change);
  if (fault !== undefined) return fault;
  yield* rows(q.build.updateTable('users').set(columnsOf(q, change)).where('id', '=', row.id));
  // Sessions end for good; keys are valid again when the user is.
  if (change === 'disable' || change === 'remove') yield* endSessionSteps(q, { userId: row.id, by });
  const action: AuditAction = `user.${change}`;
  yield* recordAudit(q, [{ userId: row.id, keyId: by, action, subject: row.name }]);
  return undefined;
}

/** Returns undefined if it was done. */
function* renameSteps(
  q: Queries,
  { id, name, removed_at }: AccountRow,
  { newName, by }: { newName: string; by: string },
): Steps<AccountFault | undefined> {
  if (newName === name) return undefined;
  if (removed_at !== null) return 'removed';
  if (name === ownerName) return 'owner';
  // A transaction that creates a user of this name at the same time waits for this row, and then finds the renamed user.
  const reserved = yield* one(
    q.build
      .insertInto('users')
      .values({ name: newName, created_at: q.now })
      .onConflict((c) => c.column('name').doNothing())
      .returning('id'),
  );
  if (reserved === undefined) return 'exists';
  yield* rows(q.build.deleteFrom('users').where('id', '=', reserved.id));
  yield* rows(q.build.updateTable('users').set({ name: newName }).where('id', '=', id));
  const subject = `${name} to ${newName}`;
  yield* recordAudit(q, [{ userId: id, keyId: by, action: 'user.rename', subject }]);
  return undefined;
}

/** Either a new name or a new state: one of them could be refused after the other was done. */
type NameOrState =
  | { readonly newName?: string; readonly change?: undefined }
  | { readonly newName?: undefined; readonly change?: AccountChange };

export type AccountUpdate = Author &
  NameOrState & {
    readonly name: string;
    /** The columns to change. */
    readonly budget?: Partial<BudgetColumns>;
  };

/** Changes everything, or nothing if it returns a fault. */
export const updateAccount = write('accounts.update', function* (q, input: AccountUpdate): Steps<
  AccountRow | AccountFault
> {
  const { name, newName, change, budget = {}, by } = input;
  yield* lockAccounts(q);
  const row = yield* findAccountSteps(q, name);
  if (row === undefined) return 'missing';
  let fault: AccountFault | undefined;
  if (newName !== undefined) fault = yield* renameSteps(q, row, { newName, by });
  else if (change !== undefined) fault = yield* changeSteps(q, row, { change, by });
  if (fault !== undefined) return fault;
  if (Object.keys(budget).length > 0) yield* setBudgetSteps(q, { userId: row.id, by, ...budget });
  return (yield* findAccountSteps(q, newName ?? name)) ?? 'missing';
});

export const accountChangeTransactions = [updateAccount];
