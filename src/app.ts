// The composition root: the only file that knows every room.
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { createChangePurge } from './changes/service.ts';
import type { Config } from './config.ts';
import { confirmationRoutes } from './confirmations/routes.ts';
import { createConfirmations } from './confirmations/service.ts';
import { conversationRoutes, fastCreation } from './conversations/routes.ts';
import { createConversations } from './conversations/service.ts';
import { createWaitingBound } from './conversations/waiting.ts';
import { openConfiguredDatabase } from './database.ts';
import { lockDataDir } from './db/folderLocks.ts';
import { ensureDataDir } from './db/open.ts';
import { ping, touch } from './db/ping.ts';
import type { Database } from './db/transaction.ts';
import { RefusalError } from './errors.ts';
import { createHub } from './events/hub.ts';
import { eventRoutes } from './events/routes.ts';
import { createEvents } from './events/service.ts';
import { healthRoutes } from './http/health.ts';
import { createRateLimiter } from './http/rates.ts';
import { referenceRoutes } from './http/reference/routes.ts';
import { createServer, type Server } from './http/server.ts';
import { createIds } from './ids.ts';
import { ensureOwnerKey, type OwnerKey } from './keys/ownerKey.ts';
import { keyRoutes } from './keys/routes.ts';
import { createKeys } from './keys/service.ts';
import { lifecycleRoutes } from './lifecycle/routes.ts';
import { createLifecycle } from './lifecycle/service.ts';
import { listingRoutes } from './listing/routes.ts';
import { createListing } from './listing/service.ts';
import { checkResponseBytesMax, checkTimeoutMs, createMcpCheck } from './mcp/check.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { optionRoutes } from './options/routes.ts';
import { createOutgoingFetch } from './outgoing/fetch.ts';
import { createPrivateAddressRule } from './outgoing/privateAddresses.ts';
import { createRuntime, type Runtime, type RuntimeTimes } from './runtime/runtime.ts';
import type { Worker } from './runtime/worker.ts';
import { secretRoutes } from './secrets/routes.ts';
import { createSecrets } from './secrets/service.ts';
import { openVault } from './secrets/vault.ts';
import { fastSettingsRoute, settingsRoutes } from './settings/routes.ts';
import { createSettings } from './settings/service.ts';
import { createSweep } from './sweep/service.ts';
import type { SweepTimes } from './sweep/store.ts';
import { ownerName } from './users/owner.ts';
import { ensureUser, hasOneUser } from './users/store.ts';
import { version } from './version.ts';
import { createDeliveries, deliveryResponseBytesMax, deliveryTimeoutMs } from './webhooks/delivery.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { createWebhooks } from './webhooks/service.ts';
import { lookReadable } from './workspaces/program.ts';
import { workspaceRoutes } from './workspaces/routes.ts';
import { createWorkspaces } from './workspaces/service.ts';

const stopGraceMs = 10_000;
const stopPollMs = 50;

export interface App {
  /** Where it listens, as a URL. */
  readonly url: string;
  /** Undefined where the environment presets the owner's key. */
  readonly ownerKey: OwnerKey | undefined;
  readonly databaseKind: Database['kind'];
  /** Finishes the answers in flight, then closes everything. Calling it again waits for the same end. */
  stop(): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  readonly logger: Logger;
  /** Called when the service can no longer do its work. */
  readonly onFatal: (error: Error) => void;
  /** Shorter ones, for tests. */
  readonly times?: { readonly worker?: Partial<RuntimeTimes>; readonly sweep?: SweepTimes };
}

const allBusy = 'All workers are busy: it starts as soon as one is free.';

type Closers = (() => Promise<void> | void)[];

/** Runs conversations, and removes the workspaces that nobody needs any more. */
function startWork(runtime: Runtime, closers: Closers, onBackgroundError: (error: Error) => void): Worker {
  runtime.endOrphans().catch(onBackgroundError);
  closers.push(runtime.startRetention().close);
  const worker = runtime.startWorker();
  closers.push(worker.close);
  return worker;
}

function createRates({ rateLimit, createLimit }: Config) {
  const requests = createRateLimiter({
    count: rateLimit,
    perMs: 1_000,
    what: `${rateLimit} requests a second`,
  });
  const creations = createRateLimiter({
    count: createLimit,
    perMs: 60_000,
    what: `${createLimit} conversations a minute`,
  });
  return { requests, creations };
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

/** Starts the service. Throws RefusalError where it must not run; nothing stays open then. */
export async function startApp({ config, logger, onFatal, times }: AppOptions): Promise<App> {
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
    const database = await openConfiguredDatabase(config, onFatal, (error) =>
      logger.warn({ err: error }, 'a database connection was lost'),
    );
    closers.push(() => database.close());
    const { dataDir, secretKeys } = config;
    const vault = await openVault({ database, dataDir, secretKeys });
    const owner = await database.run(ensureUser, ownerName);

    let stopping = false;
    const isStopping = () => stopping;
    const onBackgroundError = (error: Error) => logger.warn({ err: error }, 'work in the background failed');
    const allowPrivate = createPrivateAddressRule({
      config,
      hasOneUser: () => database.run(hasOneUser, null),
    });
    const deliveries = createDeliveries({
      database,
      vault,
      fetch: createOutgoingFetch({
        allowPrivate,
        timeoutMs: deliveryTimeoutMs,
        responseBytesMax: deliveryResponseBytesMax,
      }),
      onBackgroundError,
    });
    // Before all that can make something to send: it ends after that.
    closers.push(deliveries.close);
    const rates = createRates(config);
    const { sessionApiKey, authToken, acceptBearer } = config;
    const keys = createKeys({ database, owner, sessionApiKey, authToken, acceptBearer, onBackgroundError });
    closers.push(keys.close);
    const settings = createSettings({ database, vault });
    const runtime = createRuntime({
      config,
      database,
      vault,
      settings,
      hasOneUser: () => database.run(hasOneUser, null),
      allowPrivate,
      nextId: createIds(),
      logger,
      onBackgroundError,
      times: times?.worker,
    });
    const worker = config.role === 'api' ? undefined : startWork(runtime, closers, onBackgroundError);
    const conversations = createConversations({
      database,
      vault,
      limits: rates.creations,
      waiting: createWaitingBound({ database, max: config.waitingMax }),
      note: () => (worker?.isFull() ? allBusy : null),
      nextId: createIds(),
      onBackgroundError,
    });
    closers.push(conversations.close);
    closers.push(
      createSweep({ database, onBackgroundError, ...(times?.sweep && { times: times.sweep }) }).close,
    );
    closers.push(createChangePurge({ database, onBackgroundError }).close);
    const hub = createHub({ onBackgroundError });
    const events = createEvents({ database, hub, keys, onBackgroundError });

    const { app, routes } = createServer({
      config,
      logger,
      authenticate: keys.authenticate,
      requestRates: rates.requests,
      isStopping,
      fastRoutes: [fastSettingsRoute(settings), fastCreation(conversations, logger)],
    });
    settingsRoutes(app, settings);
    secretRoutes(app, createSecrets({ settings }));
    const fetch = createOutgoingFetch({
      allowPrivate,
      timeoutMs: checkTimeoutMs,
      responseBytesMax: checkResponseBytesMax,
    });
    mcpRoutes(app, createMcpCheck({ settings, fetch }));
    optionRoutes(app);
    conversationRoutes(app, conversations);
    const confirmations = createConfirmations({ database });
    confirmationRoutes(app, confirmations);
    lifecycleRoutes(app, createLifecycle({ database, confirmations }));
    listingRoutes(app, createListing({ database, followers: hub.followers }));
    eventRoutes(app, events);
    const workspaces = createWorkspaces({
      database,
      openWorkspace: (key, name) => runtime.openWorkspace(key, name, lookReadable),
    });
    closers.push(workspaces.close);
    workspaceRoutes(app, workspaces);
    keyRoutes(app, keys);
    const { wake } = deliveries;
    webhookRoutes(app, createWebhooks({ database, vault, allowPrivate, nextId: createIds(), wake }));
    healthRoutes(app, {
      version,
      databaseKind: database.kind,
      ping: () => database.run(ping, null),
      writable: () => database.run(touch, null),
    });
    let url = '';
    referenceRoutes(app, routes, { version, address: () => config.publicUrl ?? url });
    closers.push(async () => {
      stopping = true;
      events.close();
      const late = setTimeout(() => app.server.closeAllConnections(), stopGraceMs);
      // A kept-alive connection becomes idle when its answer is out.
      const idle = setInterval(() => app.server.closeIdleConnections(), stopPollMs);
      await app.close();
      clearTimeout(late);
      clearInterval(idle);
    });
    url = await listen(app, config);
    // Only now: a key that is made is also shown.
    const ownerKey = config.sessionApiKey === undefined ? await ensureOwnerKey(database, dataDir) : undefined;
    const stopped = () => (stop ??= closeAll());
    let stop: Promise<void> | undefined;
    return { url, ownerKey, databaseKind: database.kind, stop: stopped };
  }
}
