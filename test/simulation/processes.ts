// The processes of a simulated cluster: the real services, worker, sweep and deliveries, with a simulated clock,
// connection and network.

import type { Profile } from '../../src/agents/profileSchema.ts';
import { findProfile } from '../../src/agents/profiles.ts';
import { createCancellations } from '../../src/conversations/cancel/service.ts';
import type { Choices } from '../../src/conversations/choice/service.ts';
import { readChoice } from '../../src/conversations/choice/store.ts';
import { createConfirmations } from '../../src/conversations/confirm/service.ts';
import { createConversations } from '../../src/conversations/create/service.ts';
import { createLifecycle } from '../../src/conversations/lifecycle/service.ts';
import type { ClaimedConversation } from '../../src/conversations/run/claimStore.ts';
import { createSweep } from '../../src/conversations/sweep/service.ts';
import { releaseAll, type SweepTimes } from '../../src/conversations/sweep/store.ts';
import type { Database } from '../../src/db/transaction.ts';
import type { Vault } from '../../src/encryption/vault.ts';
import { AppError } from '../../src/errors.ts';
import { createLivePartials } from '../../src/events/partials/livePartials.ts';
import { createNodes } from '../../src/nodes/service.ts';
import type { OutgoingFetch } from '../../src/outgoing/fetch.ts';
import { type Clock, timestamp } from '../../src/process/clock.ts';
import type { RunInputs } from '../../src/runs/inputs.ts';
import { type AgentDependencies, createRunAgent } from '../../src/runs/run.ts';
import { createWorker } from '../../src/runs/worker.ts';
import type { FullSettings } from '../../src/settings/schema.ts';
import { createDeliveries } from '../../src/webhooks/delivery.ts';
import { type AgentFaults, createAgents, type Machine, type OwnerCheck } from './agents.ts';
import { createSimClock } from './simClock.ts';
import type { SimConnections } from './simDatabase.ts';
import { type Actor, Violation, type World } from './world.ts';

/** Deadlines short enough to pass in a simulation, in the order of the real ones. */
export const sweepTimes: SweepTimes = {
  startStalledMs: 10_000,
  startMs: 20_000,
  idleMs: 25_000,
  crowdedIdleMs: 400,
  crowdedWaitMs: 200,
  crowdedAskingMs: 12_000,
};
const cancelMs = 3_000;
/** Sweeps and polls are most of what happens, so they happen less often: no promise depends on their number. */
const sweepSlowdowns = { often: 2, seldom: 12 };
const pollMs = 3_000;
const leaseTimes = { leaseMs: 4_000, renewMs: 1_300, giveUpMs: 3_000 };
const deliveryTimes = { pollMs, leaseMs: 40_000, firstRetryMs: 500, retryMaxMs: 4_000, closeGraceMs: 500 };

export interface ProcessPlan {
  readonly name: string;
  /** Slots of its worker; 0 for a process that only answers requests. */
  readonly slots: number;
  readonly answersRequests: boolean;
  readonly sendsWebhooks: boolean;
  readonly sweepsOften: boolean;
  readonly machine: Machine;
}

interface ProcessOptions {
  readonly world: World;
  readonly plan: ProcessPlan;
  readonly connections: SimConnections;
  readonly vault: Vault;
  readonly profiles: readonly Profile[];
  readonly owners: OwnerCheck;
  readonly agentFaults: () => AgentFaults;
  readonly fetchOf: (process: Actor) => OutgoingFetch;
  readonly userRunsMax: number;
  readonly unattendedMs: number;
  readonly waitingMax: number;
  /** Whether it is the only process, and may release what an earlier one left. */
  readonly isAlone: boolean;
  /** Called when the files of a conversation are there. */
  readonly onWorkspace: (conversation: ClaimedConversation) => void;
  /** How often it was started before. */
  readonly starts: number;
}

const databaseCodes: ReadonlySet<string> = new Set(['database_unavailable', 'overloaded', 'outcome_unknown']);

export type Services = ReturnType<typeof createApi>;

export interface SimProcess {
  readonly plan: ProcessPlan;
  readonly actor: Actor;
  /** Undefined if it does not answer requests. */
  readonly services: Services | undefined;
  /** Whether its worker could take another conversation. */
  hasFreeSlot(): boolean;
  /** Ends at once, without any last word. */
  kill(): void;
  /** Ends in order, as after SIGTERM. */
  stop(): Promise<void>;
}

/** The agents that conversations may have. Models and keys of users are not part of the simulation. */
function createSimChoices(profiles: readonly Profile[]): Choices {
  return {
    agentId: (name) => findProfile(profiles, name)?.id ?? name,
    isKnown: (name) => findProfile(profiles, name) !== undefined,
    agentOfSettings: async () => 'builtin',
    findFault: async () => undefined,
  };
}

interface ApiOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly choices: Choices;
  readonly nextId: () => string;
  readonly waitingMax: number;
  readonly onBackgroundError: (error: Error) => void;
}

function createApi({ database, vault, clock, choices, nextId, waitingMax, onBackgroundError }: ApiOptions) {
  const confirmations = createConfirmations({ database, clock: clock.now });
  return {
    conversations: createConversations({
      database,
      vault,
      limits: { take: () => undefined, giveBack: () => {} },
      waitingMax: 0,
      choices,
      findFolderFault: async () => undefined,
      findRepositoryFault: async () => undefined,
      nextId,
      onBackgroundError,
      clock,
    }),
    confirmations,
    cancellations: createCancellations({ database, clock: clock.now }),
    lifecycle: createLifecycle({
      database,
      confirmations,
      commands: { send: async () => {} },
      choices,
      fingerprint: vault.fingerprint,
      waitingMax,
      clock: clock.now,
    }),
  };
}

/** The settings of every user. The agent and the approval mode are read from the conversation, as `runs/inputs.ts` does. */
function createSimInputs(database: Database) {
  const settingsWith = (mode: number | null) =>
    ({ agent: null, confirmation_mode: mode === 1, security_analyzer: null }) as FullSettings;
  return async (conversation: ClaimedConversation): Promise<RunInputs> => {
    const choice = async () => (await database.run(readChoice, conversation.key)) ?? conversation;
    return {
      settings: settingsWith(conversation.confirmation_mode),
      instructions: undefined,
      mcp: { sse_servers: [], stdio_servers: [], shttp_servers: [] },
      readSettings: async () => settingsWith((await choice()).confirmation_mode),
      readAgent: async () => (await choice()).agent ?? conversation.agent,
      hidden: [],
      readHidden: async () => [],
    } as unknown as RunInputs;
  };
}

export function startProcess(options: ProcessOptions): SimProcess {
  const { world, plan, connections, vault, profiles, owners, starts } = options;
  const { machine, slots } = plan;
  const name = starts === 0 ? plan.name : `${plan.name}.${starts}`;
  const actor: Actor = { name, isAlive: true, pausedUntil: 0 };
  const random = world.random.fork(name);
  const clock = createSimClock(world, actor, { skewMs: random.between(-2_000, 2_000) });
  const database = connections.connect(actor);
  let ids = 0;
  const nextId = () => `${name}-${++ids}`;
  const onBackgroundError = (error: Error) => {
    if (error instanceof AppError && databaseCodes.has(error.code)) return;
    world.fail(new Violation('background-error', error.stack ?? error.message));
  };
  const agents = createAgents({
    world,
    machine,
    process: actor,
    clock,
    profiles,
    owners,
    faults: options.agentFaults,
  });
  const dependencies = {
    database,
    clock,
    nodeId: machine.name,
    loadInputs: createSimInputs(database),
    deliverUploads: async () => ({ renamed: [], unreachable: 0 }),
    livePartials: createLivePartials(clock),
    notifier: undefined,
    profiles,
    fetchImage: async () => undefined,
    initializeMs: 60_000,
    cancelMs,
    onBackgroundError,
    ...agents,
    openEnvironment: async (...given: Parameters<typeof agents.openEnvironment>) => {
      const environment = await agents.openEnvironment(...given);
      options.onWorkspace(given[1].conversation);
      return environment;
    },
  } as unknown as AgentDependencies;
  const ready = options.isAlone
    ? database.run(releaseAll, { at: timestamp(clock) }).catch(onBackgroundError)
    : Promise.resolve();
  const nodes = createNodes({
    database,
    vault,
    nodeId: machine.name,
    processId: name,
    serves: plan.answersRequests,
    takesWork: slots > 0,
    isCluster: !options.isAlone,
    clock,
    onBackgroundError,
  });
  void nodes.register(`http://${name}`).catch(onBackgroundError);
  const worker =
    slots === 0
      ? undefined
      : createWorker({
          database,
          runAgent: createRunAgent(dependencies),
          owner: name,
          nodeId: machine.name,
          nextId,
          slots,
          userRunsMax: options.userRunsMax,
          ready,
          onBackgroundError,
          times: { pollMs, ...leaseTimes },
          clock,
        });
  const deliveries = plan.sendsWebhooks
    ? createDeliveries({
        database,
        vault,
        fetch: options.fetchOf(actor),
        onBackgroundError,
        times: deliveryTimes,
        clock,
        random: world.random.fork(`${name} deliveries`).next,
      })
    : undefined;
  const slowdown = plan.sweepsOften ? sweepSlowdowns.often : sweepSlowdowns.seldom;
  const sweep = createSweep({
    database,
    isFull: () => worker?.isFull() ?? false,
    userRunsMax: options.userRunsMax,
    nodeId: machine.name,
    onBackgroundError,
    times: { ...sweepTimes, unattendedMs: options.unattendedMs },
    clock: { ...clock, every: (ms, work) => clock.every(ms * slowdown, work) },
  });
  const choices = createSimChoices(profiles);
  const { waitingMax } = options;
  const services = plan.answersRequests
    ? createApi({ database, vault, clock, choices, nextId, waitingMax, onBackgroundError })
    : undefined;
  function kill(): void {
    actor.isAlive = false;
    agents.killAll();
  }
  return {
    plan,
    actor,
    services,
    hasFreeSlot: () => actor.isAlive && worker !== undefined && !worker.isFull(),
    kill,
    stop: async () => {
      worker?.stopClaiming();
      await nodes.leave();
      await worker?.close();
      await sweep.close();
      await deliveries?.close();
      await nodes.close();
      kill();
    },
  };
}
