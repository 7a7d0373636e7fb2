// `parley secrets rotate`.
import { rotate } from '../../encryption/rotation.ts';
import { withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { secretsRotateCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';

export const rotateKey: Handler<typeof secretsRotateCommand> = async () => {
  const { resealed, keyId, inFile } = await withDatabase((database, { dataDir, secretKeys }) =>
    rotate({ database, dataDir, secretKeys }, (count) => {
      process.stderr.write(`\r${count} records re-encrypted`);
    }),
  );
  process.stderr.write(`${resealed > 0 ? '\r' : ''}${resealed} records re-encrypted with key ${keyId}.\n`);
  process.stderr.write(
    inFile ? 'The old key is deleted.\n' : 'You can now remove the old key from PARLEY_SECRET_KEY.\n',
  );
  return exits.done;
};
