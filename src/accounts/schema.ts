// Users as administrators see them.
import Type from 'typebox';
import { budgetDollars, Spending } from '../budgets/schema.ts';
import { UserName } from '../users/schema.ts';
import { oneOf, orNull, time } from '../validation/schema.ts';

export const userStates = ['active', 'disabled', 'removed'] as const;
export type UserState = (typeof userStates)[number];

export const UserRecord = Type.Object(
  {
    name: Type.String(),
    state: oneOf(userStates),
    is_admin: Type.Boolean({
      description: 'Whether the user is the owner, or has a valid API key with the scope admin.',
    }),
    keys: Type.Integer({
      minimum: 0,
      description: 'API keys and bearer tokens that are not revoked or expired.',
    }),
    created_at: time(),
    disabled_at: orNull(time()),
    removed_at: orNull(time()),
    purge_at: orNull(
      time({ description: 'When everything that the user owned is deleted for good. Null unless removed.' }),
    ),
    budget_day_usd: budgetDollars('day'),
    budget_month_usd: budgetDollars('month'),
    spending: Spending,
  },
  { $id: 'User', additionalProperties: false },
);
export type UserRecord = Type.Static<typeof UserRecord>;

export const UserList = Type.Object(
  { users: Type.Array(UserRecord) },
  { $id: 'UserList', additionalProperties: false },
);
export type UserList = Type.Static<typeof UserList>;

export const NewUser = Type.Object({ name: UserName }, { $id: 'NewUser', additionalProperties: false });
export type NewUser = Type.Static<typeof NewUser>;

export const ChangeUser = Type.Object(
  {
    name: Type.Optional(UserName),
    disabled: Type.Optional(
      Type.Boolean({ description: 'Whether the user is kept out. Nothing of theirs is deleted.' }),
    ),
    budget_day_usd: Type.Optional(budgetDollars('day')),
    budget_month_usd: Type.Optional(budgetDollars('month')),
  },
  { $id: 'ChangeUser', additionalProperties: false },
);
export type ChangeUser = Type.Static<typeof ChangeUser>;
