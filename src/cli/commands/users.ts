// `parley users list`.
import { listUsers } from '../../users/store.ts';
import { withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { usersListCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords, shortTime } from '../terminal/table.ts';

export const listAllUsers: Handler<typeof usersListCommand> = async ({ options }) => {
  const users = await withDatabase((database) => database.run(listUsers, null));
  const records = users.map(({ name, created_at, keys }) => ({
    name,
    keys: Number(keys),
    created_at: new Date(created_at).toISOString(),
  }));
  printRecords(createOutput(options), records, {
    headings: ['NAME', 'KEYS', 'CREATED'],
    row: (user) => [user.name, String(user.keys), shortTime(user.created_at)],
  });
  return exits.done;
};
