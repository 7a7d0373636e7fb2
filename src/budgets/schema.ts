// What a user has spent on models, and the budget for it.
import Type from 'typebox';
import { dollarsMax } from '../models/money.ts';
import { orNull, time } from '../validation/schema.ts';

const period = (which: string) =>
  Type.Object(
    {
      starts_at: time({ description: 'In UTC.' }),
      ends_at: time(),
      spent_usd: Type.Number({
        minimum: 0,
        description: `US dollars spent ${which}, based on known prices.`,
      }),
      budget_usd: orNull(Type.Number({ minimum: 0 }), { description: 'Null means no limit.' }),
    },
    { additionalProperties: false },
  );

export const Spending = Type.Object(
  { day: period('today'), month: period('this month') },
  { $id: 'Spending', additionalProperties: false },
);
export type Spending = Type.Static<typeof Spending>;

export const budgetDollars = (which: string) =>
  orNull(Type.Number({ minimum: 0, maximum: dollarsMax }), {
    description: `The user's own budget for a ${which} in UTC, in US dollars. 0 means no limit, null the budget of all users.`,
  });
