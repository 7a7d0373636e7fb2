// The composition root: opens the database and all services, connects them, listens, and closes everything again.
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { openConfiguredDatabase } from './database.ts';
import { lockDataDir } from './db/folderLocks.ts';
import { ensureDataDir } from './db/open.ts';
import type { Database } from './db/transaction.ts';
import { watchWrites } from './db/writability.ts';
import { openVault } from './encryption/vault.ts';
import { RefusalError } from './errors.ts';
import { listenOnOtherLoopback } from './http/otherLoopback.ts';
import type { Server } from './http/routeTable.ts';
import { ensureOwnerKey, type OwnerKey } from './keys/ownerKey.ts';
import { createMetrics } from './metrics/metrics.ts';
import { serveMetrics } from './metrics/server.ts';
import { createRoutedServer } from './routes.ts';
import { sharedByRuns } from './runs/currentRun.ts';
import { findMissingLimits, limitsRemedy } from './sandbox/cgroups.ts';
import { type AppTimes, type Closers, createServices, type Services } from './services.ts';
import { openTracing } from './tracing/tracing.ts';
import { ownerName } from './users/owner.ts';
import { ensureUser } from './users/store.ts';

const stopGraceMs = 10_000;
const stopPollMs = 50;

export interface App {
  /** The URL on which it listens. */
  readonly url: string;
  /** Undefined if the environment sets the owner's key. */
  readonly ownerKey: OwnerKey | undefined;
  /** Whether this is the first start, and the owner has not chosen a model yet, such as by an import. */
  readonly needsModel: boolean;
  readonly databaseKind: Database['kind'];
  /** What agents run in, as a sentence. */
  readonly sandbox: string;
  /** Which limits do not hold for agents and what to do about it; undefined if all do, or if no agent can run. */
  readonly limitsNote: string | undefined;
  /** Where snapshots of files are stored, or why they cannot be; undefined if they are off. */
  readonly snapshots: { readonly sentence: string; readonly isFault: boolean } | undefined;
  /** Why local models do not work and what to do about it; undefined if they work or the operator switched them off. */
  readonly privateAddressNote: string | undefined;
  /** Waits until load balancers have noticed, answers all open requests, then closes everything. Every call returns the same promise. */
  stop(): Promise<void>;
  /** Ends the wait for load balancers. */
  hurry(): void;
}

export interface AppOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** Called when the service can no longer do its work. */
  readonly onFatal: (error: Error) => void;
  readonly times?: AppTimes;
}

/** Says whether the store for snapshots can be used, if there is one. */
async function describeSnapshots({ runtime }: Services): Promise<App['snapshots']> {
  const store = await runtime.checkSnapshotStore();
  if (store === undefined) return undefined;
  const { name, fault } = store;
  if (fault === undefined) return { sentence: `Snapshots of files are stored in ${name}.`, isFault: false };
  const sentences = [
    `The snapshot store ${name} cannot be used: ${fault.message}.`,
    ...(fault.remedy === undefined ? [] : [fault.remedy]),
    'Until it can, files of conversations are only on their machine.',
  ];
  return { sentence: sentences.join(' '), isFault: true };
}

async function listen(app: Server, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new RefusalError(
      code === 'EADDRINUSE'
        ? `Port ${port} of ${host} is taken. Choose another with PORT, or stop what listens there.`
        : `Cannot listen on ${host}:${port}: ${message}.`,
    );
  }
  const { port: bound } = app.server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

/** How other processes of the cluster reach this one, unless the operator says otherwise. */
function nodeUrl({ nodeUrl: configured, host }: Config, listening: string): string {
  if (configured !== undefined) return configured;
  const isAnyAddress = host === '0.0.0.0' || host === '::';
  return isAnyAddress ? `http://${hostname()}:${URL.parse(listening)?.port}` : listening;
}

/** Starts the service. Throws RefusalError if it must not run; nothing stays open then. */
export async function startApp({ config, logger, onFatal, times = {} }: AppOptions): Promise<App> {
  const closers: Closers = [];
  async function closeAll(): Promise<void> {
    for (const close of closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        logger.warn({ err: error }, 'something did not close cleanly');
      }
    }
  }

  try {
    return await start();
  } catch (error) {
    await closeAll();
    throw error;
  }

  async function start(): Promise<App> {
    ensureDataDir(config.dataDir);
    if (config.databaseUrl === undefined) closers.push(lockDataDir(config.dataDir));
    const metrics = createMetrics();
    const tracing = await openTracing(config, metrics);
    if (tracing !== undefined) closers.push(tracing.close);
    const commitKind = [config.databaseUrl === undefined ? 'group' : 'set'];
    const opened = await openConfiguredDatabase(
      config,
      onFatal,
      (error) => logger.warn({ err: error }, 'a database connection was lost'),
      (calls) => metrics.commits.observe(commitKind, calls),
    );
    const { database, checkWritable } = watchWrites(sharedByRuns(opened));
    closers.push(() => database.close());
    const { dataDir, secretKeys } = config;
    const vault = await openVault({ database, dataDir, secretKeys });
    const owner = await database.run(ensureUser, ownerName);

    const services = createServices({
      config,
      logger,
      metrics,
      tracing,
      database,
      vault,
      owner,
      closers,
      times,
    });
    let stopping = false;
    let closeOtherLoopback = () => {};
    let url = '';
    const { app, openAnswers } = createRoutedServer({
      config,
      logger,
      databaseKind: database.kind,
      checkWritable,
      services,
      isStopping: () => stopping,
      address: () => config.publicUrl ?? url,
    });
    const hurry = new AbortController();
    closers.push(async () => {
      stopping = true;
      services.worker?.stopClaiming();
      const left = services.nodes.leave();
      await sleep(config.drainS * 1_000, undefined, { signal: hurry.signal }).catch(() => {});
      services.events.close();
      const late = setTimeout(() => app.server.closeAllConnections(), stopGraceMs);
      // New requests are still answered meanwhile, so that /ready can report that this process is stopping.
      await openAnswers.settled();
      closeOtherLoopback();
      // A kept-alive connection becomes idle when its response is sent.
      const idle = setInterval(() => app.server.closeIdleConnections(), stopPollMs);
      await app.close();
      clearTimeout(late);
      clearInterval(idle);
      // Otherwise the conversations that this process releases next would wait for it.
      await left;
    });
    url = await listen(app, config);
    const { metricsPort, metricsHost } = config;
    if (metricsPort !== undefined) {
      const { onBackgroundError: onError } = services;
      closers.push((await serveMetrics({ metrics, host: metricsHost, port: metricsPort, onError })).close);
    }
    await services.nodes.register(nodeUrl(config, url));
    if (config.host === 'localhost') closeOtherLoopback = await listenOnOtherLoopback(app.server);
    if (config.withoutKey)
      logger.warn(
        'PARLEY_WITHOUT_KEY=1: every program of this machine can use the service without an API key.',
      );
    // This comes last, because a new key is also shown.
    const ownerKey = config.sessionApiKey === undefined ? await ensureOwnerKey(database, dataDir) : undefined;
    const stopped = () => (stop ??= closeAll());
    let stop: Promise<void> | undefined;
    const { kind, announcement, limits } = await services.runtime.describeSandbox();
    logger.info({ sandbox: kind ?? null }, announcement);
    const missing = kind === undefined ? undefined : findMissingLimits(limits);
    const limitsNote = missing === undefined ? undefined : `${missing} ${limitsRemedy}`;
    if (limitsNote !== undefined) logger.warn(limitsNote);
    const snapshots = await describeSnapshots(services);
    if (snapshots?.isFault) logger.warn(snapshots.sentence);
    const privateAddressNote = await services.findPrivateAddressNote();
    if (privateAddressNote !== undefined) logger.info(privateAddressNote);
    const isFirstStart = ownerKey?.made !== undefined;
    const needsModel = isFirstStart && (await services.settings.read(owner.id)).llm_model === null;
    return {
      url,
      ownerKey,
      needsModel,
      databaseKind: database.kind,
      sandbox: announcement,
      limitsNote,
      snapshots,
      privateAddressNote,
      stop: stopped,
      hurry: () => hurry.abort(),
    };
  }
}
