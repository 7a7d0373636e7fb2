// Days and months in UTC, by which budgets are counted. A day is a number: the days since 1970.

export const dayMs = 24 * 60 * 60_000;

export const budgetPeriods = ['day', 'month'] as const;
export type BudgetPeriod = (typeof budgetPeriods)[number];

export interface Period {
  readonly firstDay: number;
  readonly startsAt: number;
  readonly endsAt: number;
}

function periodOf(startsAt: number, endsAt: number): Period {
  return { firstDay: startsAt / dayMs, startsAt, endsAt };
}

/** The day and the month that this time is in. */
export function periodsAt(ms: number): Readonly<Record<BudgetPeriod, Period>> {
  const at = new Date(ms);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  const day = Date.UTC(year, month, at.getUTCDate());
  return {
    day: periodOf(day, day + dayMs),
    month: periodOf(Date.UTC(year, month), Date.UTC(year, month + 1)),
  };
}
