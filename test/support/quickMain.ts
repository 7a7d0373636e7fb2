// `parley serve` with leases so short that a test can wait until they expire: `node quickMain.ts serve [options]`.
import { startApp } from '../../src/app.ts';
import { serveCommand } from '../../src/cli/declarations/machine.ts';
import { parseCommandLine } from '../../src/cli/syntax/parse.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/process/log.ts';

/** Longer than the pauses of a busy machine, in which a process would lose its own runs. */
const worker = { leaseMs: 5_000, renewMs: 300, giveUpMs: 4_000, pollMs: 200 };

process.umask(0o077);
const parsed = parseCommandLine(serveCommand, process.argv.slice(3));
if (parsed === 'help') throw new Error('There is no help here.');
const config = readConfig(process.env, parsed.options as Readonly<Record<string, string | undefined>>);
const logger = createLogger(config);
const app = await startApp({
  config,
  logger,
  onFatal: (error) => {
    throw error;
  },
  times: { worker },
});
process.stdout.write(`listens on ${app.url}\n`);
process.once('SIGTERM', () => void app.stop());
