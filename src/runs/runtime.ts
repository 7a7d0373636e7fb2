// The runtime of this process: the sandbox for agents, the worker that runs them, and sandboxes for reading workspaces.
import { hostname } from 'node:os';
import { join } from 'node:path';
import { imageBytesMax } from '../agents/acp/prompt.ts';
import type { Profile } from '../agents/profileSchema.ts';
import { findStoreFault } from '../blobs/findStoreFault.ts';
import { openBlobStore } from '../blobs/openBlobStore.ts';
import { createEgress } from '../bridge/egress.ts';
import { limitsOfAll } from '../budgets/limits.ts';
import type { Config } from '../config.ts';
import type { ConversationName } from '../conversations/id.ts';
import { findActive } from '../conversations/run/store.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError } from '../errors.ts';
import type { LivePartials } from '../events/partials/livePartials.ts';
import { createRunGateway } from '../gateway/runGateway.ts';
import type { GatewayTimes } from '../gateway/times.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Models } from '../models/catalogue.ts';
import { createOutgoingFetch } from '../outgoing/fetch.ts';
import { limitLookups } from '../outgoing/lookupGate.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { lookUp } from '../outgoing/resolve.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { repeat } from '../process/repeat.ts';
import type { ProviderKeys } from '../providerKeys/service.ts';
import { limitsHold, openCgroups } from '../sandbox/cgroups.ts';
import { planSandbox, type SandboxPlan } from '../sandbox/choose.ts';
import { createDiskShortage } from '../sandbox/diskShortage.ts';
import type { DiskLimits } from '../sandbox/diskWatch.ts';
import { freeBytesMin, freeFilesMin } from '../sandbox/limits.ts';
import { type OnSandboxStart, type OpenSandbox, openSandbox } from '../sandbox/openSandbox.ts';
import { openProcessRecords } from '../sandbox/processRecords.ts';
import { type FindActive, isRemote, type RemoteEngine } from '../sandbox/sandbox.ts';
import type { Settings } from '../settings/service.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { nodeIdOf } from '../workspaces/node.ts';
import { createFolders } from '../workspaces/prepare/folders.ts';
import type { LocalFolders } from '../workspaces/prepare/localFolders.ts';
import { createRetention, type KeptWorkspaces } from '../workspaces/prepare/retention.ts';
import { volumesAsWorkspaces } from '../workspaces/prepare/volumes.ts';
import { keepServiceId } from '../workspaces/serviceId.ts';
import { guardStore, isUsable, watchStore } from '../workspaces/snapshots/guardedStore.ts';
import { snapshotReadable } from '../workspaces/snapshots/program.ts';
import { createSnapshots } from '../workspaces/snapshots/service.ts';
import { createSnapshotSweep } from '../workspaces/snapshots/sweep.ts';
import { createNotifier } from './approvals/notifyCommand.ts';
import { createGitAccess, createInputs } from './inputs.ts';
import { createImageFetch } from './prompts/images.ts';
import { createRunAgent } from './run.ts';
import type { DeliverUploads } from './runContext.ts';
import { createSnapshotReader } from './snapshotReader.ts';
import { createWorker, type Worker, type WorkerTimes } from './worker.ts';

const mb = 1_000_000;
const imageTimeoutMs = 20_000;

export interface RuntimeTimes extends WorkerTimes {
  /** The timeout of each answer of an agent until its session is open. */
  readonly initializeMs: number;
  /** How long an agent may take to end a turn that its user cancelled. */
  readonly cancelMs: number;
  /** How often unused folders are removed. */
  readonly retentionMs: number;
  /** How often pods that were left are looked for. */
  readonly orphanMs: number;
}

const defaultTimes = { initializeMs: 60_000, cancelMs: 10_000, retentionMs: 10 * 60_000, orphanMs: 30_000 };

interface RuntimeOptions {
  readonly config: Config;
  readonly database: Database;
  readonly vault: Vault;
  readonly profiles: readonly Profile[];
  readonly settings: Settings;
  readonly providerKeys: ProviderKeys;
  readonly models: Models;
  readonly hasOneUser: () => Promise<boolean>;
  readonly localFolders: LocalFolders;
  readonly allowPrivate: AllowPrivate;
  readonly livePartials: LivePartials;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly nextId: () => string;
  readonly processId: string;
  readonly onBackgroundError: (error: Error) => void;
  readonly clock?: Clock | undefined;
  readonly times?: Partial<RuntimeTimes> | undefined;
  readonly gatewayTimes?: Partial<GatewayTimes> | undefined;
}

export type Runtime = ReturnType<typeof createRuntime>;

/** Wraps a plan that is still being made, because the machine is probed while the service starts. */
function whenPlanned(plan: Promise<SandboxPlan>): Pick<SandboxPlan, 'choose'> {
  return { choose: async () => (await plan).choose() };
}

export function createRuntime(options: RuntimeOptions) {
  const { config, database, settings, providerKeys, models, vault } = options;
  const { profiles, allowPrivate, hasOneUser, onBackgroundError } = options;
  const { dataDir } = config;
  const { nextId } = options;
  const { initializeMs, cancelMs, retentionMs, orphanMs, ...workerTimes } = {
    ...defaultTimes,
    ...options.times,
  };
  const { clock = systemClock } = options;
  const owner = `${hostname()}:${process.pid}`;
  const folders = createFolders(dataDir);
  const disk: DiskLimits = {
    bytesMax: config.workspaceMb * mb,
    filesMax: config.workspaceFiles,
    freeBytesMin,
    freeFilesMin,
  };
  const cgroups = openCgroups();
  const records = openProcessRecords(join(dataDir, 'launches'), { onFault: onBackgroundError });
  const plan = planSandbox({
    choice: config.sandbox,
    image: config.sandboxImages[0] ?? '',
    runtime: config.dockerRuntime,
    hidden: [dataDir],
    trialFolder: dataDir,
    seccomp: config.seccomp === 'on',
    kubernetes: {
      image: config.kubernetesImage,
      namespace: config.kubernetesNamespace,
      runtimeClass: config.kubernetesRuntimeClass,
      agentSandbox: config.kubernetesAgentSandbox,
      warmPool: config.kubernetesWarmPool,
      processId: options.processId,
      filesBytesMax: disk.bytesMax,
      volumes:
        config.kubernetesVolumes === undefined
          ? undefined
          : {
              size: config.kubernetesVolumes,
              storageClass: config.kubernetesStorageClass,
              serviceId: () => keepServiceId(database),
            },
      onBackgroundError,
    },
    onLoopback: () => config.onLoopback,
    hasOneUser,
  });
  const sandboxes = whenPlanned(plan);
  const onSandboxStart: OnSandboxStart = ({ engine, outcome, ms }) =>
    options.metrics.sandboxStarts.observe([engine, outcome], ms / 1_000);
  const workspaceSizes = new Map<string, number>();
  // Leaves some of the system's lookup threads to the service itself.
  const egressLookup = limitLookups(lookUp, { atOnceMax: 8, waitingMax: 1_000 });

  const notifier =
    config.notifyCommand &&
    createNotifier({
      command: config.notifyCommand,
      publicUrl: config.publicUrl,
      onError: onBackgroundError,
    });

  const openedStore = config.snapshots && openBlobStore(config.snapshots);
  const guard = openedStore && guardStore({ database, store: openedStore, clock });
  const store = guard?.store;
  const snapshots =
    store &&
    createSnapshots({
      database,
      vault,
      store,
      dataDir,
      bytesMax: config.snapshotMb * mb,
      filesMax: config.snapshotFiles,
      freeMin: disk,
      openWorkspace: (key, name) => openWorkspace(key, name, snapshotReadable),
      metrics: options.metrics,
      onBackgroundError,
    });

  const snapshotReader =
    snapshots &&
    createSnapshotReader({
      snapshots,
      dataDir,
      sandboxes,
      cgroups,
      records,
      loadGitAccess: createGitAccess(settings),
      gitHosts: config.gitHosts,
      allowPrivate,
      freeMin: disk,
      nextId,
      onBackgroundError,
    });

  /** Nothing is claimed before `ready` settles. */
  function startWorker(ready: Promise<unknown>, deliverUploads: DeliverUploads): Worker {
    const runAgent = createRunAgent({
      database,
      clock,
      nodeId: nodeIdOf(dataDir),
      loadInputs: createInputs({ database, settings, providerKeys, vault, searchUrl: config.searchUrl }),
      folders,
      localFolders: options.localFolders,
      snapshots,
      deliverUploads,
      livePartials: options.livePartials,
      notifier,
      profiles,
      agentsDir: config.agentsDir,
      sandboxes,
      cgroups,
      records,
      onSandboxStart,
      workspaceSizes,
      gitHosts: config.gitHosts,
      searchUrl: config.searchUrl,
      images: config.sandboxImages,
      disk: { ...disk, shortage: createDiskShortage() },
      allowPrivate,
      // An agent is not its user, so it reaches private addresses only if the operator allows it.
      createEgress: () =>
        createEgress({
          allowPrivate: () => config.allowPrivateAddresses ?? false,
          lookup: limitLookups(egressLookup, { atOnceMax: 2, waitingMax: 128 }),
        }),
      tracing: options.tracing,
      openGateway: async ({ runId, conversation, inputs, bodies, onNotice, onLimit, parentSpan }) =>
        createRunGateway({
          database,
          runId,
          conversation,
          budgetOfAll: limitsOfAll({ day: config.userBudgetDay, month: config.userBudgetMonth }),
          nextId,
          model: { settings: inputs.settings, key: inputs.modelKey },
          loadModel: inputs.loadModel,
          modelHosts: config.modelHosts,
          models,
          allowPrivate,
          bodies,
          onNotice,
          onLimit,
          onBackgroundError,
          metrics: options.metrics,
          tracing: options.tracing,
          parentSpan,
          ...(options.gatewayTimes && { times: options.gatewayTimes }),
        }),
      fetchImage: createImageFetch(
        createOutgoingFetch({ allowPrivate, timeoutMs: imageTimeoutMs, responseBytesMax: imageBytesMax }),
      ),
      initializeMs,
      cancelMs,
      onBackgroundError,
    });
    return createWorker({
      database,
      runAgent,
      owner,
      ...(database.kind === 'postgres' && { nodeId: nodeIdOf(dataDir) }),
      nextId,
      slots: config.slots,
      userRunsMax: config.runningMax,
      ready,
      onBackgroundError,
      times: workerTimes,
      clock,
      metrics: options.metrics,
      tracing: options.tracing,
    });
  }

  /**
   * Opens a sandbox without network on the workspace of a conversation; undefined if it has none on this machine.
   * Throws if there is no sandbox.
   */
  async function openWorkspace(
    key: number,
    name: ConversationName,
    readable: readonly string[],
  ): Promise<OpenSandbox | undefined> {
    const found = await folders.find(key, name);
    if (found === undefined) return undefined;
    const choice = await sandboxes.choose();
    if ('refusal' in choice) throw new AppError('no_sandbox', choice.refusal);
    const { workspace, home, isLocal } = found;
    const remote = isRemote(choice.engine) ? choice.engine : undefined;
    const fault = isLocal ? await options.localFolders.findFault(workspace) : undefined;
    if (fault !== undefined) throw new AppError('no_workspace', `The local folder ${fault}.`);
    const spec = {
      name: `read-${nextId()}`,
      workspace,
      home,
      readable,
      resourceFactor: 1,
      image: null,
    };
    // Only a run opens a sandbox on another machine, and its files are nowhere else.
    if (remote !== undefined) return remote.join(spec);
    return openSandbox({ engine: choice.engine, spec, cgroups, records, onStart: onSandboxStart });
  }

  async function findRemoteEngine(): Promise<RemoteEngine | undefined> {
    const choice = await sandboxes.choose();
    return 'engine' in choice && isRemote(choice.engine) ? choice.engine : undefined;
  }

  return {
    /** Describes the sandbox of agents. */
    describeSandbox: async () => {
      const { kind, announcement, seccomp } = await plan;
      const limits = kind === undefined ? cgroups.holds : limitsHold(kind, cgroups);
      return { kind, announcement, seccomp, limits };
    },
    /** Removes what processes of this machine have left when they were killed. */
    endOrphans: async () => {
      await records.endOrphans();
      await snapshots?.removeLeftCopies();
    },
    /** Removes what processes have left in a cluster when they were killed. */
    startOrphanSweep: (listProcesses: () => Promise<readonly string[]>) => {
      const sweep = async () => {
        const engine = await findRemoteEngine();
        const isActive: FindActive = async (keys) => new Set(await database.run(findActive, keys));
        await engine?.removeOrphans(new Set(await listProcesses()), isActive);
      };
      const { stop } = repeat(sweep, orphanMs, onBackgroundError);
      return { close: stop };
    },
    startWorker,
    closeNotifier: () => notifier?.close(),
    startRetention: () => {
      const start = (kept: KeptWorkspaces) =>
        createRetention({
          database,
          folders: kept,
          days: config.workspaceDays,
          everyMs: retentionMs,
          owner,
          nextId,
          onBackgroundError,
        });
      const started = [start(folders)];
      if (config.kubernetesVolumes !== undefined)
        started.push(start(volumesAsWorkspaces(async () => (await findRemoteEngine())?.volumes)));
      return { close: async () => void (await Promise.all(started.map(({ close }) => close()))) };
    },
    /** Tries the store for snapshots. Undefined if there is none. */
    checkSnapshotStore: async () => store && { name: store.name, fault: await findStoreFault(store) },
    /** As `nodes` report it. */
    snapshotStoreState: () => guard?.state() ?? 'off',
    /** Looks at the store now and then, and reports once that it cannot be used. Undefined if there is none. */
    watchSnapshotStore: () => guard && watchStore(guard, clock, onBackgroundError),
    /** Whether the store can be read and is the one of this service; undefined if there is none. */
    isSnapshotStoreUsable: async () => guard && isUsable(guard),
    /** Undefined if there is no store for snapshots. */
    startSnapshotSweep: () =>
      store &&
      createSnapshotSweep({
        database,
        store,
        days: config.workspaceDays,
        everyMs: retentionMs,
        onBackgroundError,
      }),
    openWorkspace,
    /** What the workspaces of the current runs held when they were last counted. */
    workspaceBytes: () => workspaceSizes.values().reduce((sum, bytes) => sum + bytes, 0),
    snapshotsOverdueMs: () => snapshots?.overdueMs() ?? 0,
    /** When the last snapshot of a conversation was taken; undefined if there is none. */
    findSnapshotTime: async (key: number) => (await snapshots?.find(key))?.takenAt,
    /** Whether a snapshot can be restored; undefined if there is no store. */
    findSnapshotFault: snapshots?.findFault,
    /** Files of conversations whose machine is gone; undefined if there are no snapshots. */
    snapshotReader,
    /** Called when no run is left. */
    closeSnapshotStore: () => store?.close(),
    /** What the folders of one conversation together may contain. */
    disk,
    /** The folders of a conversation on this machine; undefined if it has none. */
    findFolders: folders.find,
    retentionMs,
  };
}
