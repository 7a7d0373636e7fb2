// `parley serve`: runs the service until it is told to stop.
import { join, relative } from 'node:path';
import type { Logger } from 'pino';
import { type App, startApp } from '../../app.ts';
import {
  type Config,
  type Environment,
  findUnknownVariables,
  readConfig,
  serviceOptions,
} from '../../config.ts';
import { closeInherited } from '../../process/inheritedFiles.ts';
import { createLogger } from '../../process/log.ts';
import { commandName } from '../../process/program.ts';
import { version } from '../../process/version.ts';
import type { Handler } from '../command.ts';
import { announceService } from '../connection/runningService.ts';
import type { serveCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';
import { suggest } from '../syntax/suggestion.ts';
import { handleUncaught } from '../uncaught.ts';

const lingerMs = 500;

/** Services start in the root folder, where a relative path would only look strange. */
function shownFile(file: string): string {
  const folder = process.cwd();
  const short = relative(folder, file);
  return folder === '/' || short.startsWith('..') ? file : `./${short}`;
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

/** A worker answers only health checks. */
function workerBanner(app: App, config: Config): string {
  return [
    `Parley ${version} runs conversations, and listens on ${app.url} only for health checks.`,
    `  ${app.sandbox}`,
    ...noteLines(app),
    ...sameKeyLines(app, config),
    '',
    '  Stop: Ctrl-C',
    '',
  ].join('\n');
}

function noteLines({ limitsNote, privateAddressNote, snapshots }: App): string[] {
  return [
    ...(snapshots === undefined ? [] : [`  ${snapshots.isFault ? 'Warning: ' : ''}${snapshots.sentence}`]),
    ...(limitsNote === undefined ? [] : [`  Warning: ${limitsNote}`]),
    ...(privateAddressNote === undefined ? [] : [`  ${privateAddressNote}`]),
  ];
}

/** A key that was created here is on this machine alone, but a second one cannot start without it. */
function sameKeyLines({ databaseKind }: App, { secretKeys, dataDir }: Config): string[] {
  if (databaseKind === 'sqlite' || secretKeys.length > 0) return [];
  const file = shownFile(join(dataDir, 'secret.key'));
  return [
    `  Other machines on this database need the same encryption key: set PARLEY_SECRET_KEY there to that in ${file}.`,
  ];
}

/** On SQLite no other process can run conversations, so that the message is different. */
function apiOnly({ databaseKind }: App): string {
  const who = databaseKind === 'sqlite' ? 'this service is started without PARLEY_ROLE=api' : 'a worker runs';
  return `It only answers requests: conversations wait until ${who}.`;
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

/** How to configure a model, which the agent needs. */
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
  if (config.role === 'worker') return workerBanner(app, config);
  const address = config.publicUrl ?? app.url;
  const shownKey = isTerminal ? app.ownerKey?.made : undefined;
  const key = keyForShell(app, config, shownKey);
  const token = config.authToken === undefined ? key : '$PARLEY_AUTH_TOKEN';
  const work = config.role === 'api' ? apiOnly(app) : app.sandbox;
  return [
    `Parley ${version} listens on ${address}  (${app.databaseKind}, data in ${shownFile(config.dataDir)})`,
    ...ownerKeyLines(app, config, shownKey),
    `  ${work}`,
    ...noteLines(app),
    ...sameKeyLines(app, config),
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
    ...(app.needsModel ? modelHint(config) : []),
    '',
    `  API docs: ${address}/docs    Stop: Ctrl-C`,
    '',
  ].join('\n');
}

/** A variable with a typo would otherwise be ignored without a word. */
export function unknownVariableWarnings(environment: Environment): string[] {
  const known = serviceOptions().map(({ env }) => env);
  const wanted = (name: string) => {
    const meant = suggest(
      name.toLowerCase(),
      known.map((env) => env.toLowerCase()),
    );
    return meant === undefined
      ? `"${commandName} serve --help" lists them all.`
      : `Did you mean ${meant.toUpperCase()}?`;
  };
  return findUnknownVariables(environment).map(
    (name) => `${name} in the environment is no option of the service and has no effect. ${wanted(name)}`,
  );
}

/** Lets commands find the service, unless it is only a worker. Returns a function that undoes it. */
function announce({ url }: App, { role, dataDir }: Config, logger: Logger): () => void {
  if (role === 'worker') return () => {};
  try {
    return announceService(dataDir, url);
  } catch (error) {
    logger.warn({ err: error }, 'service.url cannot be written, so commands need PARLEY_URL');
    return () => {};
  }
}

export const serve: Handler<typeof serveCommand> = async ({ options }) => {
  closeInherited();
  // Only the owner can read files that are created from here on.
  process.umask(0o077);
  const config = readConfig(process.env, options as Environment);
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
  const withdraw = announce(app, config, logger);
  let isEnding = false;
  // The listeners are added before the start is announced, because a reader of that line may stop the service at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (isEnding) app.hurry();
      isEnding = true;
      ended.resolve(0);
    });
  process.stdout.write(banner(app, config, process.stdout.isTTY === true));
  for (const warning of unknownVariableWarnings(process.env)) logger.warn(warning);
  logger.info({ database: app.databaseKind, version }, 'started');
  const exitCode = await ended.promise;
  logger.info('stopping');
  withdraw();
  await app.stop();
  logger.info('stopped');
  // Do not wait for what still hangs, such as a DNS lookup.
  setTimeout(() => process.exit(exitCode), lingerMs).unref();
  return exitCode;
};
