// `parley backup`.
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Progress } from '../../backups/archive.ts';
import { type BackupResult, createBackup } from '../../backups/create.ts';
import { readPassphrase } from '../../backups/passphrase.ts';
import { recordBackup } from '../../backups/record.ts';
import { verifyBackup } from '../../backups/verify.ts';
import type { Config } from '../../config.ts';
import { RefusalError } from '../../errors.ts';
import { readLocalConfig } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';
import type { backupCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { exitOfSignal, untilInterrupted } from '../terminal/interruption.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { createStatusLine } from '../terminal/statusLine.ts';

const number = (value: number) => value.toLocaleString('en');
const inMb = (bytes: number) => `${number(Math.ceil(bytes / 1e5) / 10)} MB`;
const shownMax = 10;

function checkTarget(file: string, overwrite: boolean): string {
  const path = resolve(file);
  if (!overwrite && existsSync(path))
    throw new RefusalError('The file exists already. Choose another name, or use --overwrite.');
  if (!statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory())
    throw new RefusalError('The folder for the file does not exist.');
  return path;
}

function describeProgress({ rows, files, bytes }: Progress): string {
  return `${number(rows)} rows, ${number(files)} files, ${inMb(bytes)}`;
}

/** What is in the backup, what is not, and what to do about it. */
function report(output: Output, { head, manifest, bytes }: BackupResult, encrypted: boolean): void {
  const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0);
  const files = Object.values(manifest.files).reduce((sum, part) => sum + part.entries, 0);
  output.note(`Backed up ${number(rows)} rows and ${number(files)} files: ${inMb(bytes)}.\n`);
  const { count, paths } = manifest.left_out;
  if (count > 0)
    output.note(`${number(count)} files were left out:\n${paths.slice(0, shownMax).join('\n')}\n`);
  if (!head.keys && head.encryption_key_id !== null)
    output.note(
      `The encryption key ${head.encryption_key_id} is not in it. Without that key, the secrets in the backup are lost: keep secret.key of the data folder, or PARLEY_SECRET_KEY, in another place.\n`,
    );
  if (head.keys && !encrypted)
    output.note(
      'The backup has the keys and is not encrypted: anybody who can read the file can read all secrets.\n',
    );
}

function toJson({ head, manifest, bytes }: BackupResult): object {
  const { created_at, database, workspaces, snapshots, keys, encryption_key_id } = head;
  return { created_at, database, workspaces, snapshots, keys, encryption_key_id, bytes, ...manifest };
}

async function verify(file: string, config: Config, passphraseFile: string | undefined, output: Output) {
  const { head, manifest } = await verifyBackup(resolve(file), readPassphrase(config, passphraseFile));
  const result = { head, manifest, bytes: statSync(resolve(file)).size };
  if (output.isJson) output.json(toJson(result));
  else {
    const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0);
    output.text(
      `The backup of ${head.created_at} is good: ${number(rows)} rows were restored and compared, and all files are complete.\n`,
    );
  }
  return exits.done;
}

export const backup: Handler<typeof backupCommand> = async ({ args, options }) => {
  process.umask(0o077);
  const output = createOutput(options);
  const passphraseFile = options['passphrase-file'];
  if (options.verify) return verify(args.file, readCommandConfig(), passphraseFile, output);
  const config = readLocalConfig();
  const passphrase = readPassphrase(config, passphraseFile);
  const toStdout = args.file === '-';
  if (toStdout && process.stdout.isTTY)
    throw new RefusalError('A backup is not written to a terminal. Name a file, or use a pipe.');
  const to = toStdout ? process.stdout : checkTarget(args.file, options.overwrite);
  const line = createStatusLine(output.isJson);
  return untilInterrupted(['SIGINT', 'SIGTERM'], async (signal) => {
    try {
      const result = await createBackup({
        ...{ places: config, to, passphrase, signal },
        workspaces: !options['without-workspaces'],
        snapshots: options.snapshots,
        keys: options.keys,
        onProgress: (progress) => line.show(() => describeProgress(progress)),
      });
      line.end();
      await recordBackup(config, result).catch((error: Error) =>
        output.note(`The time of this backup could not be recorded for the metrics: ${error.message}.\n`),
      );
      if (output.isJson && !toStdout) output.json(toJson(result));
      else report(output, result, passphrase !== undefined);
      return exits.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.note('Interrupted: there is no backup.\n');
      return exitOfSignal(signal.reason as NodeJS.Signals);
    } finally {
      line.end();
    }
  });
};
