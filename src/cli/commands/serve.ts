// `parley serve`: runs the service until it is told to stop.
import { relative } from 'node:path';
import type { Logger } from 'pino';
import { type App, startApp } from '../../app.ts';
import { type Config, describeOptions, readConfig } from '../../config.ts';
import { closeInherited } from '../../process/inheritedFiles.ts';
import { createLogger } from '../../process/log.ts';
import { settleMemorySoon } from '../../process/memory.ts';
import { commandName } from '../../process/program.ts';
import { version } from '../../process/version.ts';
import type { Command } from '../command.ts';
import { exits } from '../exits.ts';
import { announceService } from '../runningService.ts';
import { handleUncaught } from '../uncaught.ts';

const lingerMs = 500;

const help = `Usage: ${commandName} serve [options]

Runs Parley: settings and conversations over HTTP. Without options it needs nothing: it keeps its data in
./data, makes a key for you, and prints how to use it.

Options, from the environment or, where one is shown, a flag:
${describeOptions()}

Secrets are taken from the environment only, because flags can be seen by every user of a machine.
`;

function shownFile(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith('..') ? file : `./${short}`;
}

/** The owner's API key for a shell: the key itself if it is shown, otherwise a command that reads its file. */
function keyForShell(app: App, config: Config, shownKey: string | undefined): string {
  if (config.sessionApiKey !== undefined) return '$SESSION_API_KEY';
  const { usable = false, file = '' } = app.ownerKey ?? {};
  return shownKey ?? (usable ? `$(cat ${shownFile(file)})` : '$KEY');
}

/** The banner's lines about the owner's key, on the first start and after the key was lost. */
function ownerKeyLines({ ownerKey }: App, config: Config, shownKey: string | undefined): string[] {
  if (ownerKey === undefined) return [];
  const file = shownFile(ownerKey.file);
  if (shownKey !== undefined)
    return [
      '',
      `  Owner key: ${shownKey}`,
      `  It is shown only this once. ${file} keeps it, readable by you alone.`,
    ];
  if (ownerKey.made !== undefined) return ['', `  Owner key: written to ${file}, readable by you alone.`];
  if (ownerKey.usable) return [];
  return [
    '',
    `  KEY stands for your API key. "${commandFor(config)} keys create --scope all" creates a new one.`,
    ...withDatabase(config),
  ];
}

/** A worker answers for its health alone. */
function workerBanner(app: App): string {
  return [
    `Parley ${version} runs conversations, and listens on ${app.url} for its health alone.`,
    `  ${app.sandbox}`,
    ...noteLines(app),
    '',
    '  Stop: Ctrl-C',
    '',
  ].join('\n');
}

const noteLines = ({ privateAddressNote: note }: App) => (note === undefined ? [] : [`  ${note}`]);

/** Said outright: on SQLite no other process can take them. */
function apiOnly({ databaseKind }: App): string {
  const who =
    databaseKind === 'sqlite' ? 'this service is started without PARLEY_ROLE=api' : 'a worker takes them';
  return `It answers requests and runs nothing: conversations wait until ${who}.`;
}

/** The command with this service's data folder. A database URL may contain a password, so it is not repeated. */
function commandFor({ dataDir }: Config): string {
  const shown = shownFile(dataDir);
  return shown === './data' ? commandName : `PARLEY_DATA_DIR=${shown} ${commandName}`;
}

/** A hint for commands that open the database directly. */
function withDatabase({ databaseUrl }: Config): string[] {
  return databaseUrl === undefined
    ? []
    : ['  The commands need the same DATABASE_URL in their environment as this service.'];
}

/** Tells on the first start how to configure a model, which the agent needs. */
function modelHint(config: Config): string[] {
  const command = commandFor(config);
  return [
    '  Choose a model for the agent; its API key is read from a file:',
    `    ${command} settings set llm_model anthropic/claude-sonnet-4-5`,
    `    ${command} settings set llm_api_key < key.txt`,
    ...withDatabase(config),
  ];
}

/** The start message. Only a terminal gets the new owner key, because other outputs often end up in logs. */
export function banner(app: App, config: Config, isTerminal: boolean): string {
  if (config.role === 'worker') return workerBanner(app);
  const address = config.publicUrl ?? app.url;
  const isFirstStart = app.ownerKey?.made !== undefined;
  const shownKey = isTerminal ? app.ownerKey?.made : undefined;
  const key = keyForShell(app, config, shownKey);
  const token = config.authToken === undefined ? key : '$PARLEY_AUTH_TOKEN';
  const work = config.role === 'api' ? apiOnly(app) : app.sandbox;
  return [
    `Parley ${version} listens on ${address}  (${app.databaseKind}, data in ${shownFile(config.dataDir)})`,
    ...ownerKeyLines(app, config, shownKey),
    `  ${work}`,
    ...noteLines(app),
    '',
    `  Open ${address}/${shownKey === undefined ? '' : `#key=${shownKey}`}`,
    '',
    '  Full settings:',
    `    curl ${address}/api/settings -H "X-Session-API-Key: ${key}"`,
    '  Reduced settings:',
    `    curl ${address}/api/settings -H "Authorization: Bearer ${token}"`,
    '  A conversation:',
    `    curl ${address}/api/conversations -H "X-Session-API-Key: ${key}" \\`,
    `      -H "Content-Type: application/json" -d '{"initial_user_msg": "Hello"}'`,
    ...(isFirstStart ? modelHint(config) : []),
    '',
    `  Reference: ${address}/docs    Stop: Ctrl-C`,
    '',
  ].join('\n');
}

/** For commands; a worker answers none. Returns how to take it back. */
function announce({ url }: App, { role, dataDir }: Config, logger: Logger): () => void {
  if (role === 'worker') return () => {};
  try {
    return announceService(dataDir, url);
  } catch (error) {
    logger.warn({ err: error }, 'service.url cannot be written: commands need PARLEY_URL');
    return () => {};
  }
}

async function run(argv: readonly string[]): Promise<number> {
  closeInherited();
  // Files made from here on are for the owner alone.
  process.umask(0o077);
  const config = readConfig(process.env, argv);
  const logger = createLogger(config);
  const ended = Promise.withResolvers<number>();
  handleUncaught({ logger, stop: () => ended.resolve(exits.failed), exitCode: exits.failed });
  const app = await startApp({
    config,
    logger,
    onFatal: (error) => {
      logger.fatal({ err: error }, 'the database failed; stopping');
      ended.resolve(1);
    },
  });
  const takeBack = announce(app, config, logger);
  process.stdout.write(banner(app, config, process.stdout.isTTY === true));
  settleMemorySoon();
  logger.info({ database: app.databaseKind, version }, 'started');
  // A second signal changes nothing.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => ended.resolve(0));
  const exitCode = await ended.promise;
  logger.info('stopping');
  takeBack();
  await app.stop();
  logger.info('stopped');
  // Whatever still hangs, such as the look-up of a name, is of no use to anybody.
  setTimeout(() => process.exit(exitCode), lingerMs).unref();
  return exitCode;
}

export const serve: Command = { help, run };
