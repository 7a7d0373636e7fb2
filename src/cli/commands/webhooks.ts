// `parley webhooks create|list|delete|failed|redeliver`.
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine } from '../../text/plainText.ts';
import { compileCheck } from '../../validation/validation.ts';
import { NewWebhook } from '../../webhooks/schema.ts';
import { webhookBackend } from '../backends/webhooks.ts';
import type { Handler } from '../command.ts';
import type {
  webhooksCreateCommand,
  webhooksDeleteCommand,
  webhooksFailedCommand,
  webhooksListCommand,
  webhooksRedeliverCommand,
} from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { readSecret } from '../inputs.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

export const createWebhook: Handler<typeof webhooksCreateCommand> = async ({ options }) => {
  const { user, format, event: events, description = null } = options;
  const url = await readSecret('URL');
  // The parser lets only known types and formats through.
  const sent = {
    url,
    format,
    events: events.length === 0 ? ['conversation.waiting'] : [...new Set(events)],
    description,
  } as NewWebhook;
  const fault = compileCheck(NewWebhook)(sent);
  if (fault !== undefined) throw fault;
  const { id, secret } = await webhookBackend().create(sent, user);
  const isSigned = format === 'parley';
  process.stdout.write(`${plainLine(isSigned ? secret : id)}\n`);
  if (isSigned)
    process.stderr.write(
      `This is the signing secret of the webhook ${plainLine(id)}. It is not shown again.\n`,
    );
  return exits.done;
};

export const deleteWebhook: Handler<typeof webhooksDeleteCommand> = async ({ args }) => {
  if (!(await webhookBackend().delete(args.id)))
    throw new RefusalError(`There is no webhook with that id; "${commandName} webhooks list" lists them.`);
  process.stderr.write('The webhook is deleted.\n');
  return exits.done;
};

export const listWebhooks: Handler<typeof webhooksListCommand> = async ({ options }) => {
  const records = (await webhookBackend().list(options.user)).map(({ url, ...record }) => ({
    host: new URL(url).host,
    ...record,
  }));
  printRecords(createOutput(options), records, {
    headings: ['ID', 'USER', 'HOST', 'FORMAT', 'EVENTS', 'PENDING', 'FAILED', 'CREATED', 'DESCRIPTION'],
    row: (webhook) => [
      webhook.id,
      webhook.user ?? '-',
      webhook.host,
      webhook.format,
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
