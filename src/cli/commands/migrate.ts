// `parley migrate`.
import { withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { migrateCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';

/** Whatever opens the database updates its schema first. */
export const migrate: Handler<typeof migrateCommand> = async () => {
  await withDatabase(async () => {}, { mayCreate: true });
  process.stderr.write('The schema of the database is up to date.\n');
  return exits.done;
};
