// `parley restore`.
import { resolve } from 'node:path';
import { readPassphrase } from '../../backups/passphrase.ts';
import { type RestoreResult, restoreBackup } from '../../backups/restore.ts';
import type { Config } from '../../config.ts';
import { readLocalConfig } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { restoreCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { createStatusLine } from '../terminal/statusLine.ts';

const number = (value: number) => value.toLocaleString('en');

/** Without the password of PostgreSQL. Somebody may have meant the database of the service. */
function describeTarget({ dataDir, databaseUrl }: Config): string {
  if (databaseUrl === undefined) return dataDir;
  const { host, pathname } = URL.parse(databaseUrl) ?? {};
  return `PostgreSQL at ${host}${pathname} and ${dataDir}`;
}

function report(output: Output, result: RestoreResult, config: Config): void {
  const { dataDir } = config;
  const { head, manifest, stopped, held, replaced, hasKey } = result;
  const conversations = manifest.tables['conversations']?.rows ?? 0;
  output.text(`Restored the backup of ${head.created_at}: ${number(conversations)} conversations.\n`);
  output.note(`They are in ${describeTarget(config)}.\n`);
  if (stopped > 0)
    output.note(
      `${number(stopped)} conversations were running or waiting, and are stopped. A message resumes them.\n`,
    );
  if (held > 0) output.note(`${number(held)} webhook deliveries were pending, and count as failed now.\n`);
  if (replaced !== undefined)
    output.note(`What was there before is in ${replaced}. Delete it when you no longer need it.\n`);
  if (!hasKey)
    output.note(
      `The encryption key ${head.encryption_key_id} is missing, and the service will not start without it. Copy secret.key to ${dataDir}, or set PARLEY_SECRET_KEY.\n`,
    );
}

export const restore: Handler<typeof restoreCommand> = async ({ args, options }) => {
  process.umask(0o077);
  const config = readLocalConfig({ mayCreate: true });
  const output = createOutput(options);
  const line = createStatusLine(output.isJson);
  const result = await restoreBackup({
    places: config,
    file: resolve(args.file),
    passphrase: readPassphrase(config, options['passphrase-file']),
    replace: options.replace,
    holdDeliveries: options['hold-deliveries'],
    onProgress: (bytes, total) => line.show(() => `${Math.floor((100 * bytes) / Math.max(1, total))} %`),
  }).finally(line.end);
  if (output.isJson) {
    const { head, manifest, stopped, held, replaced = null, hasKey } = result;
    output.json({
      created_at: head.created_at,
      tables: manifest.tables,
      stopped,
      held,
      replaced,
      has_key: hasKey,
    });
  } else report(output, result, config);
  return exits.done;
};
