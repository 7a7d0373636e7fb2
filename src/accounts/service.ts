// Creates, renames, disables and removes users. A user who is disabled or removed cannot log in, and nothing of theirs
// runs. A removed user can be restored until everything that they owned is deleted.
import { type BudgetColumns, type BudgetLimits, toNanos } from '../budgets/limits.ts';
import { toSpending } from '../budgets/service.ts';
import { stopConversation } from '../conversations/lifecycle/store.ts';
import { stopReason } from '../conversations/states.ts';
import { conversationTopic, userTopic, workTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import { agentStateChanged, eventText } from '../events/shapes.ts';
import { nanosPerDollar } from '../models/money.ts';
import { type AccountChange, type AccountFault, type AccountUpdate, updateAccount } from './changeStore.ts';
import { listLive } from './liveStore.ts';
import type { ChangeUser, UserRecord } from './schema.ts';
import { type AccountRow, createAccount, findAccount, isAdmin, listAccounts } from './store.ts';

const dayMs = 24 * 60 * 60_000;
/** Processes may still accept the keys of a removed user for a second, and their requests take a while. */
export const purgeDelayMs = 60_000;
const stoppedAtOnceMax = 100;

export interface AccountsOptions {
  readonly database: Database;
  /** Called after each change, so that this process checks API keys again. */
  readonly onChange: () => void;
  /** How many days a removed user can be restored. */
  readonly removedDays: number;
  /** The budget of users who have none of their own. */
  readonly budgetOfAll: BudgetLimits;
  readonly now?: () => number;
}

export type Accounts = ReturnType<typeof createAccounts>;

/** How long after the removal of a user their data is deleted. */
export function removedMsOf(days: number): number {
  return Math.max(days * dayMs, purgeDelayMs);
}

const missing = () => new AppError('not_found', 'This user does not exist.');

const faults: Readonly<Record<AccountFault, () => AppError>> = {
  missing,
  removed: () => new AppError('user_inactive', 'This user was removed. Restore the user first.'),
  exists: () =>
    new AppError(
      'user_exists',
      'A user with this name already exists, or was removed and can still be restored. Choose another name.',
    ),
  owner: () => new AppError('owner_protected', 'The owner can be neither renamed nor removed.'),
  last_admin: () =>
    new AppError(
      'last_admin',
      'This is the last user who can administer the service. Create a key with the scope admin for another user first.',
    ),
};

/** Stops everything that runs or waits for the user. */
export async function stopAll(database: Database, userId: number, now = Date.now): Promise<void> {
  const reason = stopReason('user_inactive');
  for (;;) {
    const ids = await database.run(listLive, { userId, max: stoppedAtOnceMax });
    if (ids.length === 0) return;
    for (const id of ids) {
      const at = new Date(now()).toISOString();
      const events = [eventText(agentStateChanged('stopped', reason.message), at)];
      const stopped = await database.run(stopConversation, { userId, id, reason, events, at });
      if (stopped?.changed) database.notify([conversationTopic(stopped.key), userTopic(userId), workTopic]);
    }
  }
}

/** The columns to change. */
function toColumns({ budget_day_usd: day, budget_month_usd: month }: ChangeUser): Partial<BudgetColumns> {
  const nanos = (dollars: number | null) => (dollars === null ? null : toNanos(dollars));
  return {
    ...(day === undefined ? {} : { budget_day_nanos: nanos(day) }),
    ...(month === undefined ? {} : { budget_month_nanos: nanos(month) }),
  };
}

const toDollars = (nanos: number | null) => (nanos === null ? null : Number(nanos) / nanosPerDollar);

export function createAccounts(options: AccountsOptions) {
  const { database, onChange, removedDays, budgetOfAll, now = Date.now } = options;
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

  function toRecord(row: AccountRow): UserRecord {
    const { name, disabled_at, removed_at } = row;
    return {
      name,
      state: removed_at !== null ? 'removed' : disabled_at !== null ? 'disabled' : 'active',
      is_admin: isAdmin(row),
      keys: Number(row.keys),
      created_at: new Date(row.created_at).toISOString(),
      disabled_at: iso(disabled_at),
      removed_at: iso(removed_at),
      purge_at: removed_at === null ? null : iso(removed_at + removedMsOf(removedDays)),
      budget_day_usd: toDollars(row.budget_day_nanos),
      budget_month_usd: toDollars(row.budget_month_nanos),
      spending: toSpending(row, budgetOfAll),
    };
  }

  async function update(wanted: AccountUpdate): Promise<UserRecord> {
    const outcome = await database.run(updateAccount, wanted);
    if (typeof outcome === 'string') throw faults[outcome]();
    onChange();
    if (wanted.change === 'disable' || wanted.change === 'remove') await stopAll(database, outcome.id, now);
    return toRecord(outcome);
  }

  return {
    list: async (): Promise<UserRecord[]> => (await database.run(listAccounts, null)).map(toRecord),
    get: async (name: string): Promise<UserRecord> => {
      const row = await database.run(findAccount, name);
      if (row === undefined) throw missing();
      return toRecord(row);
    },
    /** `by` is the id of the caller's key, for the audit log. */
    create: async (by: string, name: string): Promise<UserRecord> => {
      const row = await database.run(createAccount, { name, by });
      if (row === undefined) throw faults.exists();
      return toRecord(row);
    },
    update: async (by: string, name: string, wanted: ChangeUser): Promise<UserRecord> => {
      const { name: newName, disabled } = wanted;
      if (newName !== undefined && disabled !== undefined)
        throw invalid([{ path: 'name', message: 'cannot be changed together with disabled' }]);
      const change: AccountChange = disabled ? 'disable' : 'enable';
      const what = newName !== undefined ? { newName } : disabled !== undefined ? { change } : {};
      return update({ name, by, ...what, budget: toColumns(wanted) });
    },
    remove: (by: string, name: string) => update({ name, by, change: 'remove' }),
    restore: (by: string, name: string) => update({ name, by, change: 'restore' }),
  };
}
