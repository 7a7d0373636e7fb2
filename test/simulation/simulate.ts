// One simulation: a seed chooses the cluster, its users and its faults. After a while all faults end, everything must
// come to rest, and one last message to each conversation must be answered.
import { loadProfiles } from '../../src/agents/profiles.ts';
import type { ClaimedConversation } from '../../src/conversations/run/claimStore.ts';
import type { Database } from '../../src/db/transaction.ts';
import { openVault, type Vault } from '../../src/encryption/vault.ts';
import type { Principal } from '../../src/keys/principal.ts';
import { ensureUser } from '../../src/users/store.ts';
import type { Machine } from './agents.ts';
import { createChecker } from './checker.ts';
import { createClients } from './clients.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { checkDeadlines } from './deadlines.ts';
import { chooseFaults, noTrouble } from './faults.ts';
import { checkHeard, checkRest, checkResults, checkSent, isAtRest } from './finalChecks.ts';
import { createNetwork } from './network.ts';
import { type ProcessPlan, startProcess, sweepTimes } from './processes.ts';
import { createReceiver, createWebhooks } from './receiver.ts';
import { createConnections } from './simDatabase.ts';
import { openStore, type Store } from './store.ts';
import { createWorld, Violation, type World } from './world.ts';

const troubleMs = 15_000;
/** No deadline is longer than all of them together, with a few leases. */
const restMsMax = sweepTimes.startMs + sweepTimes.idleMs + sweepTimes.crowdedAskingMs + 40_000;
const lastMsMax = restMsMax;

/** What many simulations share. */
export interface Bench {
  readonly store: Store;
  readonly vault: Vault;
}

export async function openBench(): Promise<Bench> {
  const store = openStore();
  const database = { run: async (transaction, input) => store.run(transaction, input) } as Pick<
    Database,
    'run'
  >;
  const vault = await openVault({
    database: database as Database,
    dataDir: '/nowhere',
    secretKeys: [Buffer.alloc(32, 1)],
  });
  return { store, vault };
}

export interface Result {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly trace: readonly string[];
  readonly digest: number;
  readonly steps: number;
  readonly conversations: number;
  readonly events: number;
  readonly deliveries: number;
}

const profiles = loadProfiles(undefined);

function principalOf(userId: number, userName: string): Principal {
  return { userId, userName, keyId: userName, via: 'session' } as unknown as Principal;
}

function planCluster(world: World): { plans: ProcessPlan[]; machines: Machine[]; sends: boolean } {
  const random = world.random.fork('plan');
  const workers = random.between(1, 3);
  const apis = random.between(0, 1);
  // Processes that share a data folder are on one machine.
  const shares = random.chance(0.3);
  const sends = random.chance(0.06);
  const newMachine = (name: string): Machine => ({ name, homes: new Map(), programs: new Map() });
  const machines = Array.from({ length: shares ? 1 : workers }, (_, i) => newMachine(`m${i}`));
  const machineOf = (i: number) => machines[shares ? 0 : i] as Machine;
  const plans = Array.from({ length: workers }, (_, i) => ({
    name: `w${i}`,
    slots: random.between(1, 3),
    answersRequests: apis === 0 || random.chance(0.3),
    sendsWebhooks: sends,
    sweepsOften: i === 0,
    machine: machineOf(i),
  }));
  for (let i = 0; i < apis; i++)
    plans.push({
      name: `a${i}`,
      slots: 0,
      answersRequests: true,
      sendsWebhooks: sends,
      sweepsOften: false,
      machine: machineOf(0),
    });
  return { plans, machines, sends };
}

/** What matters of a snapshot: that there is one. */
function storeSnapshot(store: Store, { key, user_id, id }: ClaimedConversation): void {
  store.select(
    `insert into snapshots (id, conversation_key, user_id, conversation_id, sealed, blob, created_at)
     values (hex(randomblob(8)), ?, ?, ?, '', 'blob', 0) on conflict do nothing`,
    key,
    user_id,
    id,
  );
}

export async function simulate(bench: Bench, seed: number, { keepAll = false } = {}): Promise<Result> {
  const { store, vault } = bench;
  const world = createWorld(seed, { keepAll });
  store.reset(world.now);
  const random = world.random.fork('scenario');
  const chosen = chooseFaults(world.random.fork('faults'));
  let faults = chosen;
  const { plans, machines, sends } = planCluster(world);
  world.note(() => `faults ${JSON.stringify(faults)}`);
  world.note(
    () => `processes ${JSON.stringify(plans.map(({ machine, ...plan }) => ({ ...plan, on: machine.name })))}`,
  );
  const names = random.chance(0.5) ? ['ada'] : ['ada', 'bob'];
  const users = names.map((name) => principalOf(store.run(ensureUser, name).id, name));
  const hasWebhook = sends || random.chance(0.4);
  if (hasWebhook) createWebhooks(store, vault, users);
  const receiver = createReceiver({ world, store, fails: () => faults.network.lostAnswer });
  const checker = createChecker(world, store, { hasWebhook });
  const connections = createConnections({
    world,
    store,
    watch: checker,
    faults: () => faults.database, // No process has begun before there is a cluster.
    onCommit: (by) => cluster.onCommit(by),
  });
  const unattendedMs = random.chance(0.3) ? 8_000 : 0;
  const hasSnapshots = world.random.fork('snapshots').chance(0.5);
  const userRunsMax = random.chance(0.3) ? random.between(1, 2) : 0;
  const shared = {
    world,
    connections,
    vault,
    profiles,
    owners: checker,
    agentFaults: () => faults.agents,
    fetchOf: receiver.fetchOf,
    userRunsMax,
    unattendedMs,
    waitingMax: random.chance(0.1) ? 2 : 0,
    isAlone: plans.length === 1,
    onWorkspace: (conversation: ClaimedConversation) => {
      if (hasSnapshots) storeSnapshot(store, conversation);
    },
  };
  const cluster: Cluster = createCluster({
    world,
    count: plans.length,
    start: (number, starts) => startProcess({ ...shared, plan: plans[number] as ProcessPlan, starts }),
    faults: () => faults.processes,
    until: world.now() + troubleMs,
  });
  const network = createNetwork({ world, processes: cluster.processes, faults: () => faults.network });
  const start = world.now();
  const clients = createClients({
    world,
    network,
    conversations: random.between(1, 4),
    users,
    list: () => checker.rows().values(),
    until: start + troubleMs,
    confirms: random.chance(0.5),
  });
  const onUnhandled = (error: unknown) =>
    world.fail(
      error instanceof Violation
        ? error
        : new Violation('unhandled', (error as Error)?.stack ?? String(error)),
    );
  process.on('unhandledRejection', onUnhandled);

  const atRest = () => clients.isDone() && network.isQuiet() && [...checker.rows().values()].every(isAtRest);

  function watchDeadlines(calmSince: number): void {
    world.after(1_000, undefined, () => {
      const rows = [...checker.rows().values()];
      checkDeadlines(rows, { now: world.now(), calmSince, unattendedMs });
      const isFree = cluster.processes().some((process) => process.hasFreeSlot());
      checker.machines.checkWaiting(rows, isFree, userRunsMax);
      watchDeadlines(calmSince);
    });
  }

  async function finish(): Promise<void> {
    await world.runUntil(start + troubleMs);
    world.note(() => 'all faults end');
    faults = noTrouble;
    cluster.heal();
    watchDeadlines(world.now());
    await world.runUntil(world.now() + restMsMax, atRest);
    if (world.violation() !== undefined) return;
    checkRest(checker.rows().values());
    world.note(() => 'everything is at rest: one last message to each');
    clients.approveAll();
    const last = [...checker.rows().values()].map(({ user_id, id }) => clients.sayLast(user_id, id));
    let isSaid = false;
    void Promise.all(last).then(() => (isSaid = true));
    const isAnswered = () => [...checker.rows().values()].every(({ question }) => question === null);
    const isOver = () => isSaid && atRest() && isAnswered() && (!sends || receiver.isDone());
    await world.runUntil(world.now() + lastMsMax, isOver);
    if (world.violation() !== undefined) return;
    checkRest(checker.rows().values());
    if (!isOver()) throw new Violation('stuck', 'the last messages are not answered');
    checkSent(clients.sent, checker.lifetimes);
    checkHeard(checker, machines);
    checkResults(checker.lifetimes);
    if (sends) receiver.check(checker.demanded);
  }

  try {
    await finish();
  } catch (error) {
    world.fail(error instanceof Violation ? error : new Violation('uncaught', (error as Error).stack ?? ''));
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  // Nothing of this seed may act in the next one.
  for (const { kill } of cluster.processes()) kill();
  return {
    seed,
    violation: world.violation(),
    trace: world.trace(),
    digest: world.digest(),
    steps: world.steps(),
    conversations: checker.lifetimes.length,
    events: checker.lifetimes.reduce((sum, { events }) => sum + events.length, 0),
    deliveries: checker.demanded.length,
  };
}
