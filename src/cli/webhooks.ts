// `parley webhooks list|failed|redeliver`.
import { parseArgs } from 'node:util';
import type { Database } from '../db/transaction.ts';
import { RefusalError } from '../errors.ts';
import { findUser } from '../users/store.ts';
import { findDeliveryWebhook, listDeliveries } from '../webhooks/deliveryStore.ts';
import { redeliverAll, toDelivery, toRecord } from '../webhooks/service.ts';
import { listWebhooks, type WebhookRow } from '../webhooks/store.ts';
import type { Command } from './command.ts';
import { withDatabase } from './database.ts';
import { formatTable } from './table.ts';

const failedShownMax = 1_000;

const help = `Usage: parley webhooks list [--user NAME] [--json]
       parley webhooks failed [--user NAME] [--json]
       parley webhooks redeliver WEBHOOK|DELIVERY

Shows webhooks and the messages that did not arrive, and sends those again. Works beside a running service, which
sends within a second, and on a stopped one, which sends when it starts.

list       Shows the webhooks of all users or of one, with how many messages wait and how many failed. Of the URL
           only the host is shown: the rest may hold a secret.
failed     Shows messages that were given up, up to ${failedShownMax.toLocaleString('en')} of each webhook, and why. They are kept for 30 days.
redeliver  Sends failed messages again: all of a webhook (wh_…), or one (msg_…). Receivers know a repeated message
           by its webhook-id.

Webhooks are made and deleted over HTTP, by POST and DELETE /api/webhooks.
Reads PARLEY_DATA_DIR or DATABASE_URL, as the service does.

Example: parley webhooks failed --user ada
`;

const listOptions = {
  user: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

async function webhooksOf(database: Database, userName: string | undefined): Promise<WebhookRow[]> {
  if (userName === undefined) return database.run(listWebhooks, {});
  const user = await database.run(findUser, userName);
  if (user === undefined) throw new RefusalError('There is no such user; "parley users list" shows them.');
  return database.run(listWebhooks, { userId: user.id });
}

function shortTime(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

function print(records: readonly object[], asJson: boolean, table: () => string): number {
  process.stdout.write(asJson ? `${JSON.stringify(records, null, 2)}\n` : table());
  return 0;
}

async function list(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: listOptions });
  const rows = await withDatabase((database) => webhooksOf(database, values.user));
  const records = rows.map((row) => {
    const { url, ...record } = toRecord(row);
    return { user: row.user, host: new URL(url).host, ...record };
  });
  return print(records, values.json, () =>
    formatTable(
      ['ID', 'USER', 'HOST', 'EVENTS', 'WAITING', 'FAILED', 'SINCE', 'DESCRIPTION'],
      records.map((r) => [
        r.id,
        r.user,
        r.host,
        r.events.join(' '),
        String(r.waiting),
        String(r.failed),
        shortTime(r.created_at),
        r.description ?? '',
      ]),
    ),
  );
}

async function failed(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: listOptions });
  const records = await withDatabase(async (database) => {
    const found = [];
    for (const { id: webhookId, user } of await webhooksOf(database, values.user)) {
      const filter = { webhookId, states: ['failed'] as const, max: failedShownMax };
      for (const row of (await database.run(listDeliveries, filter)) ?? [])
        found.push({ webhook_id: webhookId, user, ...toDelivery(row) });
    }
    return found;
  });
  return print(records, values.json, () =>
    formatTable(
      ['DELIVERY', 'WEBHOOK', 'USER', 'TYPE', 'CONVERSATION', 'MADE', 'WHY'],
      records.map((r) => [
        r.id,
        r.webhook_id,
        r.user,
        r.type,
        r.conversation_id,
        shortTime(r.created_at),
        r.last_error ?? '',
      ]),
    ),
  );
}

async function redeliver(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0)
    throw new RefusalError(
      'Give the id of one webhook or delivery; "parley webhooks list" and "parley webhooks failed" show them.',
    );
  const count = await withDatabase(async (database) => {
    const webhookId = await database.run(findDeliveryWebhook, id);
    return redeliverAll(
      database,
      webhookId === undefined ? { webhookId: id } : { webhookId, deliveryId: id },
    );
  });
  if (count === undefined)
    throw new RefusalError(
      'There is no webhook or delivery of that id; "parley webhooks list" and "parley webhooks failed" show them.',
    );
  process.stderr.write(`${count === 1 ? '1 message is' : `${count} messages are`} sent again.\n`);
  return 0;
}

const actions: Readonly<Record<string, (argv: readonly string[]) => Promise<number>>> = {
  list,
  failed,
  redeliver,
};

async function run(argv: readonly string[]): Promise<number> {
  const [action = '', ...rest] = argv;
  const act = actions[action];
  if (act === undefined)
    throw new RefusalError('Say list, failed or redeliver; "parley webhooks --help" explains them.');
  return act(rest);
}

export const webhooks: Command = { help, run };
