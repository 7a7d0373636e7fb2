// `parley users accounts|link|unlink|sign-out`: how users sign in with a provider.
import type { IdentityRecord } from '../../signIn/schema.ts';
import { plainLine } from '../../text/plainText.ts';
import { userAccountBackend } from '../backends/userAccounts.ts';
import type { Handler } from '../command.ts';
import type {
  usersAccountsCommand,
  usersLinkCommand,
  usersSignOutCommand,
  usersUnlinkCommand,
} from '../declarations/users.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

function report(options: Parameters<typeof createOutput>[0], account: IdentityRecord, done: string): number {
  const output = createOutput(options);
  if (output.isJson) output.json(account);
  else output.text(`${done}: ${plainLine(account.subject)} at ${plainLine(account.issuer)}\n`);
  return exits.done;
}

export const listAccountsOfUser: Handler<typeof usersAccountsCommand> = async ({ args, options }) => {
  printRecords(createOutput(options), await userAccountBackend().list(args.name), {
    headings: ['ID', 'SUBJECT', 'EMAIL', 'LAST SIGN-IN', 'ISSUER'],
    row: ({ id, subject, email, signed_in_at: at, issuer }) => [
      id,
      subject,
      email ?? '-',
      at === null ? '-' : shortTime(at),
      issuer,
    ],
  });
  return exits.done;
};

export const linkAccount: Handler<typeof usersLinkCommand> = async ({ args, options }) => {
  const { issuer } = options;
  const identity = { subject: args.subject, ...(issuer === undefined ? {} : { issuer }) };
  return report(options, await userAccountBackend().link(args.name, identity), 'Linked');
};

export const unlinkAccount: Handler<typeof usersUnlinkCommand> = async ({ args, options }) =>
  report(options, await userAccountBackend().unlink(args.name, args.id), 'Unlinked');

export const signOutUser: Handler<typeof usersSignOutCommand> = async ({ args, options }) => {
  const ended = await userAccountBackend().signOut(args.name);
  const output = createOutput(options);
  if (output.isJson) output.json({ ended });
  else output.text(`Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.\n`);
  return exits.done;
};
