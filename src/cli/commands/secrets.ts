// `parley secrets rotate`.
import { parseArgs } from 'node:util';
import { rotate } from '../../encryption/rotation.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../database.ts';
import { localHelp } from '../exits.ts';

const help = `Usage: ${commandName} secrets rotate

Changes the key that seals stored secrets, while the service runs. Everything is sealed anew; the old key is
given up when nothing uses it. It can be interrupted and run again at any time.

Where the key is in secret.key of the data folder, this is all there is to do.
Where it comes from PARLEY_SECRET_KEY: make a new one (openssl rand -hex 32), set PARLEY_SECRET_KEY=NEW,OLD for
every process and restart them, run this command with the same value, then set PARLEY_SECRET_KEY=NEW.

${localHelp}`;

async function run(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  if (positionals.join(' ') !== 'rotate') throw new RefusalError(`Say "${commandName} secrets rotate".`);
  const result = await withDatabase((database, { dataDir, secretKeys }) =>
    rotate({ database, dataDir, secretKeys }, (resealed) => {
      process.stderr.write(`\r${resealed} sealed anew`);
    }),
  );
  process.stderr.write(
    `${result.resealed > 0 ? '\r' : ''}${result.resealed} sealed anew with key ${result.keyId}.\n`,
  );
  process.stderr.write(
    result.inFile ? 'The old key is gone.\n' : 'You can now drop the old key from PARLEY_SECRET_KEY.\n',
  );
  return 0;
}

export const secrets: Command = { help, run };
