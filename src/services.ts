// Creates the services of the process in the order of their dependencies.
import type { Logger } from 'pino';
import { createAccounts } from './accounts/service.ts';
import { createAccountSweep } from './accounts/sweep.ts';
import { agentNamesOf, findProfile, loadProfiles } from './agents/profiles.ts';
import { createAgents } from './agents/service.ts';
import { type ScheduleTimes, startBackupSchedule } from './backups/schedule.ts';
import { readBackupAge } from './backups/store.ts';
import { limitsOfAll } from './budgets/limits.ts';
import { createBudgets } from './budgets/service.ts';
import type { Config } from './config.ts';
import { createCancellations } from './conversations/cancel/service.ts';
import { createChoices } from './conversations/choice/service.ts';
import { createCommands } from './conversations/commands/service.ts';
import { createConfirmations } from './conversations/confirm/service.ts';
import { createConversations } from './conversations/create/service.ts';
import { createFeedback } from './conversations/feedback/service.ts';
import { createForks } from './conversations/fork/service.ts';
import { createLifecycle } from './conversations/lifecycle/service.ts';
import { createListing } from './conversations/list/service.ts';
import { findConversation } from './conversations/list/store.ts';
import { readBacklog } from './conversations/run/backlogStore.ts';
import { createIndexer } from './conversations/search/indexer.ts';
import { createSearch } from './conversations/search/service.ts';
import { createSweep, defaultTimes } from './conversations/sweep/service.ts';
import { releaseAll, type SweepTimes } from './conversations/sweep/store.ts';
import { createUsages } from './conversations/usage/service.ts';
import type { Database } from './db/transaction.ts';
import type { Vault } from './encryption/vault.ts';
import { createChangePurge } from './events/changes/service.ts';
import { createHub } from './events/hub.ts';
import { createLivePartials } from './events/partials/livePartials.ts';
import { createEvents } from './events/service.ts';
import type { GatewayTimes } from './gateway/times.ts';
import { createUploadFetch } from './http/fetchUpload.ts';
import { createPassOn, type ReadFrom } from './http/passOn.ts';
import { createRateLimiter } from './http/rates.ts';
import { createRemotePartials, type RemotePartialsTimes, subscribeAnywhere } from './http/remotePartials.ts';
import { createKeys } from './keys/service.ts';
import { checkResponseBytesMax, checkTimeoutMs, createMcpCheck } from './mcp/check.ts';
import type { Metrics } from './metrics/metrics.ts';
import { addServiceMetrics } from './metrics/serviceMetrics.ts';
import { loadModels } from './models/catalogue.ts';
import { createNodes } from './nodes/service.ts';
import { createOutgoingFetch } from './outgoing/fetch.ts';
import {
  createPrivateAddressRule,
  findPrivateAddressNote,
  watchPrivateAddresses,
} from './outgoing/privateAddresses.ts';
import { systemClock } from './process/clock.ts';
import { createIds } from './process/ids.ts';
import { version } from './process/version.ts';
import { createProviderKeys } from './providerKeys/service.ts';
import type { ProviderTimes } from './repositories/requests.ts';
import { createRepositories } from './repositories/service.ts';
import type { DeliverUploads } from './runs/runContext.ts';
import { createRuntime, type Runtime, type RuntimeTimes } from './runs/runtime.ts';
import type { Worker } from './runs/worker.ts';
import { findFreeBytes } from './sandbox/diskWatch.ts';
import { createSecrets } from './secrets/service.ts';
import { createDefaults } from './settings/defaultsService.ts';
import { createSettings } from './settings/service.ts';
import { configuredIssuer, openSignIn, sessionTimes } from './signIn/configured.ts';
import { createIdentities } from './signIn/identityService.ts';
import { createSessions } from './signIn/sessionService.ts';
import type { Tracing } from './tracing/tracing.ts';
import { hasOneUser, type User } from './users/store.ts';
import { createDeliveries, deliveryResponseBytesMax, deliveryTimeoutMs } from './webhooks/delivery.ts';
import { readOutboxAge } from './webhooks/outboxAge.ts';
import { createWebhooks } from './webhooks/service.ts';
import { nodeIdOf } from './workspaces/node.ts';
import { createLocalFolders } from './workspaces/prepare/localFolders.ts';
import { inspectionReadable } from './workspaces/read/program.ts';
import { createWorkspaces } from './workspaces/read/service.ts';
import { writeReadable } from './workspaces/write/program.ts';
import { createUploadRetention } from './workspaces/write/retention.ts';
import { createUploads, type Uploads } from './workspaces/write/service.ts';
import { createStaging } from './workspaces/write/staging.ts';

const allBusy = 'All workers are busy. The conversation starts as soon as one is free.';

/** Shorter times, for tests. */
export interface AppTimes {
  readonly worker?: Partial<RuntimeTimes>;
  readonly sweep?: SweepTimes;
  readonly gateway?: Partial<GatewayTimes>;
  readonly gitProviders?: Partial<ProviderTimes>;
  readonly remotePartials?: Partial<RemotePartialsTimes>;
  readonly backups?: Partial<ScheduleTimes>;
}

/** Called in reverse order. */
export type Closers = (() => Promise<void> | void)[];

interface ServicesOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  readonly database: Database;
  readonly vault: Vault;
  readonly owner: User;
  readonly closers: Closers;
  readonly times: AppTimes;
}

export type Services = ReturnType<typeof createServices>;

function createRates({ rateLimit, createLimit }: Config, sharing: () => number) {
  const requests = createRateLimiter({
    count: rateLimit,
    perMs: 1_000,
    limit: `This key may make ${rateLimit} requests a second`,
    sharing,
  });
  const creations = createRateLimiter({
    count: createLimit,
    perMs: 60_000,
    limit: `This key may make ${createLimit} conversations a minute`,
    sharing,
  });
  return { requests, creations };
}

/** Starts the worker, and removes unused workspaces. */
function startWork(
  database: Database,
  runtime: Runtime,
  closers: Closers,
  deliverUploads: DeliverUploads,
  onBackgroundError: (error: Error) => void,
): Worker {
  /** No run begins while processes of earlier ones may be alive. */
  async function clearUp(): Promise<void> {
    await runtime.endOrphans();
    if (database.kind === 'sqlite') await database.run(releaseAll, { at: new Date().toISOString() });
  }
  closers.push(runtime.startRetention().close);
  const sweep = runtime.startSnapshotSweep();
  if (sweep !== undefined) closers.push(sweep.close);
  const worker = runtime.startWorker(clearUp().catch(onBackgroundError), deliverUploads);
  closers.push(runtime.closeNotifier, worker.close);
  return worker;
}

interface UploadsNeeds extends Pick<ServicesOptions, 'config' | 'database' | 'closers'> {
  readonly runtime: Runtime;
  readonly readFrom: ReadFrom;
  readonly onBackgroundError: (error: Error) => void;
}

/** Uploads of this process, and the removal of those that nobody needs. */
function openUploads(needs: UploadsNeeds): Uploads {
  const { config, database, runtime, readFrom, closers, onBackgroundError } = needs;
  const staging = createStaging(config.dataDir);
  const nextId = createIds();
  const uploads = createUploads({
    database,
    nodeId: nodeIdOf(config.dataDir),
    staging,
    disk: runtime.disk,
    findFolders: ({ key, ...name }) => runtime.findFolders(key, name),
    openWorkspace: ({ key, ...name }) => runtime.openWorkspace(key, name, writeReadable),
    fetchFrames: createUploadFetch(readFrom, nextId),
    nextId,
  });
  const retention = createUploadRetention({
    database,
    staging,
    days: config.workspaceDays,
    everyMs: runtime.retentionMs,
    onBackgroundError,
  });
  closers.push(retention.close, uploads.close);
  return uploads;
}

export function createServices(options: ServicesOptions) {
  const { config, logger, metrics, tracing, database, vault, owner, closers, times } = options;
  const onBackgroundError = (error: Error) => logger.warn({ err: error }, 'work in the background failed');
  const isAlone = () => database.run(hasOneUser, null);
  const privateAddresses = { config, hasOneUser: isAlone };
  const allowPrivate = createPrivateAddressRule(privateAddresses);
  closers.push(
    watchPrivateAddresses({ ...privateAddresses, onOff: (note) => logger.warn(note), onBackgroundError }),
  );
  const deliveries = createDeliveries({
    database,
    vault,
    fetch: createOutgoingFetch({
      allowPrivate,
      timeoutMs: deliveryTimeoutMs,
      responseBytesMax: deliveryResponseBytesMax,
    }),
    publicUrl: config.publicUrl,
    onBackgroundError,
    tracing,
  });
  // Added before everything that creates deliveries, so that it is closed after them.
  closers.push(deliveries.close);
  const processId = createIds()();
  const nodes = createNodes({
    database,
    vault,
    nodeId: nodeIdOf(config.dataDir),
    processId,
    serves: config.role !== 'worker',
    takesWork: config.role !== 'api',
    version,
    slots: config.role === 'api' ? 0 : config.slots,
    snapshotStore: () => runtime.snapshotStoreState(),
    onBackgroundError,
  });
  const rates = createRates(config, nodes.sharing);
  const { sessionApiKey, authToken, acceptBearer } = config;
  const keys = createKeys({
    database,
    vault,
    owner,
    sessionApiKey,
    authToken,
    acceptBearer,
    withoutKey: config.withoutKey,
    sessionIdleMs: sessionTimes(config).idleMs,
    onBackgroundError,
  });
  closers.push(keys.close);
  const sessions = createSessions({ database, keys, onBackgroundError });
  closers.push(sessions.close);
  const profiles = loadProfiles(config.agentsFile);
  const agentNames = agentNamesOf(profiles);
  const settings = createSettings({ database, vault, agentNames: () => agentNames });
  const defaults = createDefaults({ database, settings });
  const providerKeys = createProviderKeys({ settings, modelHosts: config.modelHosts });
  const choices = createChoices({
    agents: { names: agentNames, find: (name) => findProfile(profiles, name) },
    settings,
    providerKeys,
  });
  const models = loadModels(config.pricesFile);
  const livePartials = createLivePartials();
  const localFolders = createLocalFolders({
    allowed: config.localFolders,
    dataDir: config.dataDir,
    hasSharedDatabase: config.databaseUrl !== undefined,
    onLoopback: config.onLoopback && config.publicUrl === undefined,
    hasOneUser: isAlone,
  });
  const runtime = createRuntime({
    config,
    database,
    vault,
    profiles,
    settings,
    providerKeys,
    models,
    hasOneUser: isAlone,
    localFolders,
    allowPrivate,
    livePartials,
    metrics,
    tracing,
    nextId: createIds(),
    processId,
    onBackgroundError,
    times: times.worker,
    gatewayTimes: times.gateway,
  });
  closers.push(runtime.closeSnapshotStore);
  const storeWatch = runtime.watchSnapshotStore();
  if (storeWatch !== undefined) closers.push(storeWatch.stop);
  const {
    passOn,
    passOnReading,
    readFrom,
    readAt,
    close: closePassOn,
  } = createPassOn(nodes, async (name) => {
    const found = await database.run(findConversation, name);
    return found && runtime.findSnapshotTime(found.key);
  });
  closers.push(closePassOn, nodes.close);
  if (config.sandbox === 'kubernetes' && config.role !== 'api')
    closers.push(runtime.startOrphanSweep(nodes.listIds).close);
  const uploads = openUploads({ config, database, runtime, readFrom, closers, onBackgroundError });
  const worker =
    config.role === 'api'
      ? undefined
      : startWork(database, runtime, closers, uploads.deliver, onBackgroundError);
  const repositories = createRepositories({
    settings,
    gitHosts: config.gitHosts,
    allowPrivate,
    times: times.gitProviders,
  });
  const conversations = createConversations({
    database,
    vault,
    limits: rates.creations,
    waitingMax: config.waitingMax,
    choices,
    findFolderFault: localFolders.findFault,
    findRepositoryFault: repositories.findFault,
    note: () => (worker?.isFull() ? allBusy : null),
    nextId: createIds(),
    onBackgroundError,
    tracing,
  });
  closers.push(conversations.close);
  const forks = createForks({
    database,
    vault,
    limits: rates.creations,
    waitingMax: config.waitingMax,
    choices,
    findSnapshotFault: runtime.findSnapshotFault,
    nextId: createIds(),
    onBackgroundError,
  });
  closers.push(forks.close);
  closers.push(
    createSweep({
      database,
      isFull: () => worker?.isFull() ?? false,
      userRunsMax: config.runningMax,
      ...(nodes.isCluster && { nodeId: nodeIdOf(config.dataDir) }),
      onBackgroundError,
      onClockSet: deliveries.onClockSet,
      times: { ...defaultTimes, unattendedMs: config.unattendedS * 1_000, ...times.sweep },
    }).close,
  );
  closers.push(createChangePurge({ database, onBackgroundError }).close);
  closers.push(createIndexer({ database, owner: processId, onBackgroundError }).close);
  const { removedUserDays: removedDays } = config;
  const budgetOfAll = limitsOfAll({ day: config.userBudgetDay, month: config.userBudgetMonth });
  closers.push(createAccountSweep({ database, removedDays, onBackgroundError }).close);
  const schedule = startBackupSchedule({
    database,
    config,
    logger,
    owner: processId,
    onEnd: (outcome) => metrics.backups.add([outcome]),
    onBackgroundError,
    times: times.backups,
  });
  if (schedule !== undefined) closers.push(schedule.close);
  const hub = createHub({ onBackgroundError, metrics });
  addServiceMetrics(metrics, {
    readBacklog: () => database.run(readBacklog, null),
    readOutboxAge: () => database.run(readOutboxAge, null),
    readBackupAge: () => database.run(readBackupAge, null),
    readDiskFree: () => findFreeBytes(config.dataDir),
    readSnapshotStore: runtime.isSnapshotStoreUsable,
    runs: () => worker?.size() ?? 0,
    slots: config.role === 'api' ? 0 : config.slots,
    workspaceBytes: runtime.workspaceBytes,
    snapshotsOverdueMs: runtime.snapshotsOverdueMs,
    subscribers: hub.size,
  });
  const remotePartials = createRemotePartials({
    nodes,
    livePartials,
    nextId: createIds(),
    clock: systemClock,
    times: times.remotePartials,
  });
  closers.push(remotePartials.close);
  const openPartials = subscribeAnywhere(
    livePartials,
    nodes.isCluster ? remotePartials.subscribe : undefined,
  );
  const checkFetch = createOutgoingFetch({
    allowPrivate,
    timeoutMs: checkTimeoutMs,
    responseBytesMax: checkResponseBytesMax,
  });
  const confirmations = createConfirmations({ database });
  const workspaces = createWorkspaces({
    database,
    openWorkspace: (key, name) => runtime.openWorkspace(key, name, inspectionReadable),
    prepareSnapshot: async (conversation, name, signal) =>
      runtime.snapshotReader?.prepare(name, conversation, inspectionReadable, signal),
  });
  const { snapshotReader } = runtime;
  if (snapshotReader !== undefined) closers.push(snapshotReader.close);
  closers.push(workspaces.close);
  return {
    onBackgroundError,
    /** Undefined if this process runs no conversations. */
    worker,
    metrics,
    tracing,
    rates,
    keys,
    signIn: openSignIn(config, { database, vault, log: logger }),
    sessions,
    identities: createIdentities({
      database,
      issuer: configuredIssuer(config),
      onChange: keys.forgetAll,
    }),
    accounts: createAccounts({ database, onChange: keys.forgetAll, removedDays, budgetOfAll }),
    budgets: createBudgets({ database, ofAll: budgetOfAll }),
    settings,
    defaults,
    secrets: createSecrets({ settings }),
    providerKeys,
    agentNames,
    agents: createAgents({
      profiles,
      agentsDir: config.agentsDir,
      runsConversations: config.role !== 'api',
    }),
    repositories,
    mcpCheck: createMcpCheck({ settings, fetch: checkFetch }),
    models,
    runtime,
    /** A warning about private addresses for the operator, if there is one. */
    findPrivateAddressNote: () => findPrivateAddressNote(privateAddresses),
    conversations,
    confirmations,
    cancellations: createCancellations({ database }),
    forks,
    lifecycle: createLifecycle({
      database,
      confirmations,
      commands: createCommands({ database, nextId: createIds() }),
      choices,
      fingerprint: vault.fingerprint,
      waitingMax: config.waitingMax,
    }),
    search: createSearch({ database }),
    listing: createListing({ database, keys, subscribers: hub.subscribers }),
    events: createEvents({
      database,
      hub,
      keys,
      livePartials,
      openPartials,
      streamsMax: config.streamsMax,
      sharing: nodes.sharing,
      onBackgroundError,
    }),
    usages: createUsages({ database }),
    feedback: createFeedback({ database, nextId: createIds() }),
    workspaces,
    uploads,
    nodes,
    passOn,
    passOnReading,
    readAt,
    webhooks: createWebhooks({ database, vault, allowPrivate, nextId: createIds(), wake: deliveries.wake }),
  };
}
