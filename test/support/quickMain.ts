// `parley serve` with leases so short that a test can wait for their end: `node quickMain.ts serve [options]`.
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/process/log.ts';

const worker = { leaseMs: 1_500, renewMs: 200, giveUpMs: 1_000, pollMs: 200 };

process.umask(0o077);
const config = readConfig(process.env, process.argv.slice(3));
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
