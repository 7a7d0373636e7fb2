// Shows what a user has spent, and what the budget is.
import type { Database } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { nanosPerDollar } from '../models/money.ts';
import { type BudgetLimits, limitsOf } from './limits.ts';
import { type BudgetPeriod, periodsAt } from './period.ts';
import type { Spending } from './schema.ts';
import { findSpent, type SpentRow } from './store.ts';

export type Budgets = ReturnType<typeof createBudgets>;

export function toSpending(row: SpentRow, ofAll: BudgetLimits): Spending {
  const periods = periodsAt(Number(row.at));
  const limits = limitsOf(row, ofAll);
  const spent = { day: row.day_nanos, month: row.month_nanos };
  const show = (name: BudgetPeriod) => {
    const limit = limits[name];
    return {
      starts_at: new Date(periods[name].startsAt).toISOString(),
      ends_at: new Date(periods[name].endsAt).toISOString(),
      spent_usd: Number(spent[name]) / nanosPerDollar,
      budget_usd: limit === null ? null : limit / nanosPerDollar,
    };
  };
  return { day: show('day'), month: show('month') };
}

export function createBudgets({ database, ofAll }: { database: Database; ofAll: BudgetLimits }) {
  return {
    get: async (userId: number): Promise<Spending> => {
      const row = await database.run(findSpent, userId);
      if (row === undefined) throw new AppError('not_found', 'This user does not exist.');
      return toSpending(row, ofAll);
    },
  };
}
