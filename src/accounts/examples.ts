// An example of a user, for the API docs.
import { spendingExample } from '../budgets/examples.ts';
import type { UserRecord } from './schema.ts';

export const userExample: UserRecord = {
  name: 'ada',
  state: 'active',
  is_admin: false,
  keys: 2,
  created_at: '2026-11-01T09:00:00.000Z',
  disabled_at: null,
  removed_at: null,
  purge_at: null,
  budget_day_usd: 5,
  budget_month_usd: null,
  spending: spendingExample,
};
