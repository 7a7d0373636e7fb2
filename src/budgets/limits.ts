// The budget of a user: their own, or that of all users.
import { nanosPerDollar } from '../models/money.ts';
import { type BudgetPeriod, budgetPeriods } from './period.ts';

/** In billionths of a US dollar; null means no limit. */
export type BudgetLimits = Readonly<Record<BudgetPeriod, number | null>>;

/** The columns of a user. Null means the budget of all users, 0 no limit. */
export interface BudgetColumns {
  readonly budget_day_nanos: number | null;
  readonly budget_month_nanos: number | null;
}

/** Only 0 becomes 0, which means no limit: a tiny budget is not rounded to that. */
export function toNanos(dollars: number): number {
  return dollars === 0 ? 0 : Math.max(1, Math.round(dollars * nanosPerDollar));
}

/** A changed budget for the audit log, such as `day 5 month none`. */
export function describeBudget({
  budget_day_nanos: day,
  budget_month_nanos: month,
}: Partial<BudgetColumns>): string {
  const amount = (nanos: number | null) =>
    nanos === null ? 'default' : nanos === 0 ? 'none' : String(nanos / nanosPerDollar);
  return [
    ...(day === undefined ? [] : [`day ${amount(day)}`]),
    ...(month === undefined ? [] : [`month ${amount(month)}`]),
  ].join(' ');
}

/** From the options of the service, in dollars; 0 means no limit. */
export function limitsOfAll(dollars: Readonly<Record<BudgetPeriod, number>>): BudgetLimits {
  return { day: toNanos(dollars.day) || null, month: toNanos(dollars.month) || null };
}

export function limitsOf(user: BudgetColumns, ofAll: BudgetLimits): BudgetLimits {
  const limit = (own: number | null, other: number | null) => (own === null ? other : Number(own) || null);
  return {
    day: limit(user.budget_day_nanos, ofAll.day),
    month: limit(user.budget_month_nanos, ofAll.month),
  };
}

export function hasLimit(limits: BudgetLimits): boolean {
  return budgetPeriods.some((period) => limits[period] !== null);
}
