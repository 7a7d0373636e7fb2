// `parley audit`.
import { parseArgs } from 'node:util';
import { listAudit } from '../audit/store.ts';
import { RefusalError } from '../errors.ts';
import type { Command } from './command.ts';
import { withDatabase } from './database.ts';
import { formatTable } from './table.ts';

const defaultMax = 100;
const entriesMax = 100_000;

const help = `Usage: parley audit [--user NAME] [--last ${defaultMax}] [--json]

Shows who changed what, newest last: settings and secrets by name, keys made, used (once a day) and revoked,
webhooks made and deleted.
Never a value. Where the key column says command-line or service, no key was needed.
`;

async function run(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      user: { type: 'string' },
      last: { type: 'string', default: String(defaultMax) },
      json: { type: 'boolean', default: false },
    },
  });
  const max = Number(values.last);
  if (!Number.isInteger(max) || max < 1 || max > entriesMax)
    throw new RefusalError(`--last must be a whole number from 1 to ${entriesMax}.`);
  const filter = values.user === undefined ? { max } : { max, userName: values.user };
  const entries = (await withDatabase((database) => database.run(listAudit, filter))).map((entry) => ({
    ...entry,
    at: new Date(entry.at).toISOString(),
  }));
  if (values.json) process.stdout.write(`${JSON.stringify(entries, null, 2)}\n`);
  else {
    const rows = entries.map(({ at, user, key_id, action, subject }) => [
      at.slice(0, 19).replace('T', ' '),
      user,
      key_id,
      action,
      subject,
    ]);
    process.stdout.write(formatTable(['TIME', 'USER', 'KEY', 'ACTION', 'SUBJECT'], rows));
  }
  return 0;
}

export const audit: Command = { help, run };
