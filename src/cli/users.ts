// `parley users list`.
import { parseArgs } from 'node:util';
import { RefusalError } from '../errors.ts';
import { listUsers } from '../users/store.ts';
import type { Command } from './command.ts';
import { withDatabase } from './database.ts';
import { formatTable } from './table.ts';

const help = `Usage: parley users list [--json]

Lists the users and how many keys each can use. A user is made with the first key:
  parley keys create --user ada
`;

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { json: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  if (positionals.join(' ') !== 'list') throw new RefusalError('Say "parley users list".');
  const users = await withDatabase((database) => database.run(listUsers, null));
  const records = users.map(({ name, created_at, keys }) => ({
    name,
    keys: Number(keys),
    created_at: new Date(created_at).toISOString(),
  }));
  if (values.json) process.stdout.write(`${JSON.stringify(records, null, 2)}\n`);
  else {
    const rows = records.map((r) => [r.name, String(r.keys), r.created_at.slice(0, 16).replace('T', ' ')]);
    process.stdout.write(formatTable(['NAME', 'KEYS', 'SINCE'], rows));
  }
  return 0;
}

export const users: Command = { help, run };
