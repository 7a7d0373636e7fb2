// An example of spending, for the API docs.
import type { Spending } from './schema.ts';

export const spendingExample: Spending = {
  day: {
    starts_at: '2026-11-16T00:00:00.000Z',
    ends_at: '2026-11-17T00:00:00.000Z',
    spent_usd: 1.25,
    budget_usd: 5,
  },
  month: {
    starts_at: '2026-11-01T00:00:00.000Z',
    ends_at: '2026-12-01T00:00:00.000Z',
    spent_usd: 31.5,
    budget_usd: null,
  },
};
