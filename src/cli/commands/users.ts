// `parley users list`.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { listUsers } from '../../users/store.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../database.ts';
import { exits, localHelp, outputHelp } from '../exits.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

const help = `Usage: ${commandName} users list [--json|--text]

Lists the users and how many keys each can use. A user is made with the first key:
  ${commandName} keys create --user ada

${localHelp}${outputHelp}`;

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: outputOptions,
    allowPositionals: true,
  });
  if (positionals.join(' ') !== 'list') throw new RefusalError(`Say "${commandName} users list".`);
  const output = createOutput(values);
  const users = await withDatabase((database) => database.run(listUsers, null));
  const records = users.map(({ name, created_at, keys }) => ({
    name,
    keys: Number(keys),
    created_at: new Date(created_at).toISOString(),
  }));
  printRecords(output, records, {
    headings: ['NAME', 'KEYS', 'SINCE'],
    row: (r) => [r.name, String(r.keys), shortTime(r.created_at)],
  });
  return exits.done;
}

export const users: Command = { help, run };
