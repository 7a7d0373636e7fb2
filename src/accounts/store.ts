// Users as administrators see them: lists and creates them.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import { type SpentRow, spentColumns } from '../budgets/store.ts';
import { readNow } from '../db/clock.ts';
import { one, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { ownerName } from '../users/owner.ts';

/** How many users are listed. */
const listedMax = 10_000;

export interface AccountRow extends SpentRow {
  readonly id: number;
  readonly name: string;
  readonly created_at: number;
  readonly disabled_at: number | null;
  readonly removed_at: number | null;
  /** How many keys are valid, unless the user is inactive. */
  readonly keys: number;
  /** Whether one of them has the scope admin. */
  readonly admin_keys: number;
}

function selectAccounts(q: Queries, at: number) {
  const valid = sql`keys.revoked_at is null and (keys.expires_at is null or keys.expires_at > ${q.now})`;
  const count = (condition: ReturnType<typeof sql>) =>
    sql<number>`(select count(*) from keys where keys.user_id = users.id and ${condition})`;
  return q.build
    .selectFrom('users')
    .select([
      'id',
      'name',
      'created_at',
      'disabled_at',
      'removed_at',
      'budget_day_nanos',
      'budget_month_nanos',
    ])
    .select([...spentColumns(q, at)])
    .select([
      count(valid).as('keys'),
      count(sql`${valid} and keys.kind = 'session' and keys.scopes like '%"admin"%'`).as('admin_keys'),
    ])
    .where('purging_at', 'is', null)
    .where('name', 'not like', sql.lit('#%'));
}

export const listAccounts = read('accounts.list', function* (q, _: null): Steps<AccountRow[]> {
  return yield* rows(
    selectAccounts(q, yield* readNow(q))
      .orderBy('name')
      .limit(listedMax),
  );
});

export function* findAccountSteps(q: Queries, name: string): Steps<AccountRow | undefined> {
  return yield* one(selectAccounts(q, yield* readNow(q)).where('name', '=', name));
}

export const findAccount = read('accounts.find', findAccountSteps);

export function isAdmin({ name, admin_keys }: Pick<AccountRow, 'name' | 'admin_keys'>): boolean {
  return name === ownerName || Number(admin_keys) > 0;
}

export interface Author {
  /** The id of the caller's key, for the audit log. */
  readonly by: string;
}

/** Returns undefined if the name is taken. */
export const createAccount = write('accounts.create', function* (q, input: Author & { name: string }): Steps<
  AccountRow | undefined
> {
  const { name, by } = input;
  const created = yield* one(
    q.build
      .insertInto('users')
      .values({ name, created_at: q.now })
      .onConflict((c) => c.column('name').doNothing())
      .returning('id'),
  );
  if (created === undefined) return undefined;
  yield* recordAudit(q, [{ userId: created.id, keyId: by, action: 'user.create', subject: name }]);
  return yield* findAccountSteps(q, name);
});

export const accountTransactions = [listAccounts, findAccount, createAccount];
