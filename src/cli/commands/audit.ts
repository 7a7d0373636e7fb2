// `parley audit`.
import { listAudit } from '../../audit/store.ts';
import { withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { auditCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords } from '../terminal/table.ts';

export const audit: Handler<typeof auditCommand> = async ({ options }) => {
  const { user, last: max } = options;
  const filter = user === undefined ? { max } : { max, userName: user };
  const entries = (await withDatabase((database) => database.run(listAudit, filter))).map((entry) => ({
    ...entry,
    at: new Date(entry.at).toISOString(),
  }));
  printRecords(createOutput(options), entries, {
    headings: ['TIME', 'USER', 'KEY', 'ACTION', 'SUBJECT'],
    row: ({ at, user: name, key_id, action, subject }) => [
      at.slice(0, 19).replace('T', ' '),
      name,
      key_id,
      action,
      subject,
    ],
  });
  return exits.done;
};
