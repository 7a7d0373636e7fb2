// `parley users …`.
import type { UserRecord } from '../../accounts/schema.ts';
import { RefusalError } from '../../errors.ts';
import { dollarsMax } from '../../models/money.ts';
import { plainLine } from '../../text/plainText.ts';
import { UserName } from '../../users/schema.ts';
import { compileCheck } from '../../validation/validation.ts';
import { userBackend } from '../backends/users.ts';
import type { Handler } from '../command.ts';
import type {
  usersBudgetCommand,
  usersCreateCommand,
  usersDisableCommand,
  usersEnableCommand,
  usersListCommand,
  usersRemoveCommand,
  usersRenameCommand,
  usersRestoreCommand,
} from '../declarations/users.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { ask, canAsk } from '../terminal/prompt.ts';
import { secondUserNote } from '../terminal/secondUser.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

function checkName(name: string): void {
  const [fault] = compileCheck(UserName)(name)?.details ?? [];
  if (fault !== undefined) throw new RefusalError(`The name ${fault.message}.`);
}

function report(options: Parameters<typeof createOutput>[0], user: UserRecord, done: string): number {
  const output = createOutput(options);
  if (output.isJson) output.json(user);
  else output.text(`${done}: ${plainLine(user.name)}\n`);
  return exits.done;
}

function stateOf({ state, purge_at: purgeAt }: UserRecord): string {
  return purgeAt === null ? state : `removed, deleted ${shortTime(purgeAt)}`;
}

function spentText({ spent_usd: spent, budget_usd: budget }: UserRecord['spending']['day']): string {
  const used = `$${spent.toFixed(2)}`;
  return budget === null ? used : `${used} of $${budget.toFixed(2)}`;
}

export const listAllUsers: Handler<typeof usersListCommand> = async ({ options }) => {
  printRecords(createOutput(options), await userBackend().list(), {
    headings: ['NAME', 'STATE', 'ADMIN', 'KEYS', 'TODAY', 'THIS MONTH', 'CREATED'],
    row: (user) => [
      user.name,
      stateOf(user),
      user.is_admin ? 'yes' : '-',
      String(user.keys),
      spentText(user.spending.day),
      spentText(user.spending.month),
      shortTime(user.created_at),
    ],
  });
  return exits.done;
};

export const createUser: Handler<typeof usersCreateCommand> = async ({ args, options }) => {
  checkName(args.name);
  const { user, turnsOffPrivate } = await userBackend().create(args.name);
  if (turnsOffPrivate) process.stderr.write(secondUserNote);
  return report(options, user, 'Created');
};

export const renameUser: Handler<typeof usersRenameCommand> = async ({ args, options }) => {
  const newName = args['new-name'];
  checkName(newName);
  return report(options, await userBackend().update(args.name, { name: newName }), 'Renamed');
};

/** Undefined if the option is absent. */
function parseBudget(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'default') return null;
  if (text === 'none') return 0;
  if (!/^\d{1,7}(\.\d+)?$/.test(text) || Number(text) === 0 || Number(text) > dollarsMax)
    throw new RefusalError(`${flag} must be a number of dollars up to ${dollarsMax}, none or default.`);
  return Number(text);
}

export const budgetUser: Handler<typeof usersBudgetCommand> = async ({ args, options }) => {
  const day = parseBudget('--day', options.day);
  const month = parseBudget('--month', options.month);
  const backend = userBackend();
  const user =
    day === undefined && month === undefined
      ? await backend.get(args.name)
      : await backend.update(args.name, {
          ...(day === undefined ? {} : { budget_day_usd: day }),
          ...(month === undefined ? {} : { budget_month_usd: month }),
        });
  const output = createOutput(options);
  if (output.isJson) output.json(user);
  else output.text(`Today: ${spentText(user.spending.day)}\nThis month: ${spentText(user.spending.month)}\n`);
  return exits.done;
};

export const disableUser: Handler<typeof usersDisableCommand> = async ({ args, options }) =>
  report(options, await userBackend().update(args.name, { disabled: true }), 'Disabled');

export const enableUser: Handler<typeof usersEnableCommand> = async ({ args, options }) =>
  report(options, await userBackend().update(args.name, { disabled: false }), 'Enabled');

async function mayRemove(name: string): Promise<boolean> {
  if (!canAsk()) throw new RefusalError('Nothing was removed: confirm it with --yes.');
  const what = 'settings, secrets, API keys, conversations, files and webhooks';
  process.stderr.write(`${plainLine(name)} is kept out at once. Later, all ${what} are deleted for good.\n`);
  return (await ask('Type the name of the user to confirm: ')).trim() === name;
}

export const removeUser: Handler<typeof usersRemoveCommand> = async ({ args, options }) => {
  const backend = userBackend();
  const { name } = await backend.get(args.name);
  if (!options.yes && !(await mayRemove(name))) {
    process.stderr.write('Nothing was removed.\n');
    return exits.failed;
  }
  const user = await backend.remove(name);
  const until = user.purge_at === null ? '' : `, can be restored until ${shortTime(user.purge_at)}`;
  return report(options, user, `Removed${until}`);
};

export const restoreUser: Handler<typeof usersRestoreCommand> = async ({ args, options }) =>
  report(options, await userBackend().restore(args.name), 'Restored');
