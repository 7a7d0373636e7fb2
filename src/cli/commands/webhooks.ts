// `parley webhooks list|failed|redeliver`.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { chooseAction } from '../actions.ts';
import type { Command } from '../command.ts';
import { exits, outputHelp, placeHelp } from '../exits.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';
import { failedShownMax, webhookPlace } from '../webhookPlaces.ts';

const help = `Usage: ${commandName} webhooks list [--user NAME] [--json|--text]
       ${commandName} webhooks failed [--user NAME] [--json|--text]
       ${commandName} webhooks redeliver WEBHOOK|DELIVERY

Shows webhooks and the messages that did not arrive, and sends those again: within a second where the service runs,
otherwise when it starts.

list       Shows the webhooks of all users, of one, or of your key, with how many messages wait and how many failed. Of the URL
           only the host is shown: the rest may hold a secret.
failed     Shows messages that were given up, up to ${failedShownMax.toLocaleString('en')} of each webhook, and why. They are kept for 30 days.
redeliver  Sends failed messages again: all of a webhook (wh_…), or one (msg_…). Receivers know a repeated message
           by its webhook-id.

Webhooks are made and deleted over HTTP, by POST and DELETE /api/webhooks.
${placeHelp}Over HTTP your key must hold webhooks:manage, and there is no --user.
${outputHelp}
Example: ${commandName} webhooks failed --user ada
`;

const listOptions = { ...outputOptions, user: { type: 'string' } } as const;

async function list(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: listOptions });
  const output = createOutput(values);
  const records = (await webhookPlace().list(values.user)).map(({ url, ...record }) => ({
    host: new URL(url).host,
    ...record,
  }));
  printRecords(output, records, {
    headings: ['ID', 'USER', 'HOST', 'EVENTS', 'WAITING', 'FAILED', 'SINCE', 'DESCRIPTION'],
    row: (r) => [
      r.id,
      r.user ?? '-',
      r.host,
      r.events.join(' '),
      String(r.waiting),
      String(r.failed),
      shortTime(r.created_at),
      r.description ?? '',
    ],
  });
  return exits.done;
}

async function failed(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: listOptions });
  const output = createOutput(values);
  printRecords(output, await webhookPlace().failed(values.user), {
    headings: ['DELIVERY', 'WEBHOOK', 'USER', 'TYPE', 'CONVERSATION', 'MADE', 'WHY'],
    row: (r) => [
      r.id,
      r.webhook_id,
      r.user ?? '-',
      r.type,
      r.conversation_id,
      shortTime(r.created_at),
      r.last_error ?? '',
    ],
  });
  return exits.done;
}

async function redeliver(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0)
    throw new RefusalError(
      `Give the id of one webhook or delivery; "${commandName} webhooks list" and "${commandName} webhooks failed" show them.`,
    );
  const count = await webhookPlace().redeliver(id);
  if (count === undefined)
    throw new RefusalError(
      `There is no webhook or delivery of that id; "${commandName} webhooks list" and "${commandName} webhooks failed" show them.`,
    );
  process.stderr.write(`${count === 1 ? '1 message is' : `${count} messages are`} sent again.\n`);
  return exits.done;
}

const actions = { list, failed, redeliver };

async function run([action, ...rest]: readonly string[]): Promise<number> {
  return chooseAction('webhooks', actions, action)(rest);
}

export const webhooks: Command = { help, run };
