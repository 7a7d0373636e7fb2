// `parley webhooks list|failed|redeliver`.
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { webhookBackend } from '../backends/webhooks.ts';
import type { Handler } from '../command.ts';
import type {
  webhooksFailedCommand,
  webhooksListCommand,
  webhooksRedeliverCommand,
} from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

export const listWebhooks: Handler<typeof webhooksListCommand> = async ({ options }) => {
  const records = (await webhookBackend().list(options.user)).map(({ url, ...record }) => ({
    host: new URL(url).host,
    ...record,
  }));
  printRecords(createOutput(options), records, {
    headings: ['ID', 'USER', 'HOST', 'EVENTS', 'PENDING', 'FAILED', 'CREATED', 'DESCRIPTION'],
    row: (webhook) => [
      webhook.id,
      webhook.user ?? '-',
      webhook.host,
      webhook.events.join(' '),
      String(webhook.waiting),
      String(webhook.failed),
      shortTime(webhook.created_at),
      webhook.description ?? '',
    ],
  });
  return exits.done;
};

export const listFailed: Handler<typeof webhooksFailedCommand> = async ({ options }) => {
  printRecords(createOutput(options), await webhookBackend().failed(options.user), {
    headings: ['DELIVERY', 'WEBHOOK', 'USER', 'TYPE', 'CONVERSATION', 'CREATED', 'ERROR'],
    row: (delivery) => [
      delivery.id,
      delivery.webhook_id,
      delivery.user ?? '-',
      delivery.type,
      delivery.conversation_id,
      shortTime(delivery.created_at),
      delivery.last_error ?? '',
    ],
  });
  return exits.done;
};

export const redeliver: Handler<typeof webhooksRedeliverCommand> = async ({ args }) => {
  const count = await webhookBackend().redeliver(args.id);
  if (count === undefined)
    throw new RefusalError(
      `There is no webhook or delivery with that id; "${commandName} webhooks list" and "${commandName} webhooks failed" list them.`,
    );
  process.stderr.write(`${count === 1 ? '1 delivery is' : `${count} deliveries are`} pending again.\n`);
  return exits.done;
};
