// `parley audit`.
import { parseArgs } from 'node:util';
import { listAudit } from '../../audit/store.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../database.ts';
import { exits, localHelp, outputHelp } from '../exits.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { printRecords } from '../terminal/table.ts';

const defaultMax = 100;
const entriesMax = 100_000;

const help = `Usage: ${commandName} audit [--user NAME] [--last ${defaultMax}] [--json|--text]

Shows who changed what, newest last: settings and secrets by name, keys made, used (once a day) and revoked,
webhooks made and deleted.
Never a value. Where the key column says command-line or service, no key was needed.

${localHelp}${outputHelp}`;

async function run(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      user: { type: 'string' },
      last: { type: 'string', default: String(defaultMax) },
      ...outputOptions,
    },
  });
  const output = createOutput(values);
  const max = /^\d{1,6}$/.test(values.last) ? Number(values.last) : 0;
  if (max < 1 || max > entriesMax)
    throw new RefusalError(`--last must be a whole number from 1 to ${entriesMax}.`);
  const filter = values.user === undefined ? { max } : { max, userName: values.user };
  const entries = (await withDatabase((database) => database.run(listAudit, filter))).map((entry) => ({
    ...entry,
    at: new Date(entry.at).toISOString(),
  }));
  printRecords(output, entries, {
    headings: ['TIME', 'USER', 'KEY', 'ACTION', 'SUBJECT'],
    row: ({ at, user, key_id, action, subject }) => [
      at.slice(0, 19).replace('T', ' '),
      user,
      key_id,
      action,
      subject,
    ],
  });
  return exits.done;
}

export const audit: Command = { help, run };
