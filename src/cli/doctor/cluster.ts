// Checks the processes of the service as the one that answers sees them: workers, versions, whether they reach each other,
// and whether they have the same snapshot store.
import type { Diagnostics } from '../../client/parley.ts';
import { type Finding, note, ok, wrong } from './finding.ts';

type Process = Diagnostics['processes'][number];

/** Processes that a message names. */
const namedMax = 5;

function checkWorkers(processes: readonly Process[]): Finding {
  const workers = processes.filter(({ takes_work: takesWork }) => takesWork);
  const serving = processes.filter(({ serves }) => serves);
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  if (workers.length === 0)
    return wrong(
      'workers',
      'No process runs conversations, so that new ones wait.',
      'Start a process with PARLEY_ROLE=worker or PARLEY_ROLE=all on the same database.',
    );
  return ok(
    'workers',
    `Processes that run conversations: ${workers.length} (${slots} slots); that answer requests: ${serving.length}; machines: ${machinesOf(processes).length}.`,
  );
}

function checkVersions(processes: readonly Process[]): Finding[] {
  const versions = [...new Set(processes.map((one) => one.version || 'an older version'))].toSorted();
  if (versions.length < 2) return [];
  const mixed = `The processes have different versions: ${versions.join(', ')}.`;
  return [note('versions', mixed, 'Finish the upgrade: restart the older ones with the new version.')];
}

function machinesOf(processes: readonly Process[]): string[] {
  return [...new Set(processes.map(({ machine }) => machine))];
}

function nameSome(names: readonly string[]): string {
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : '';
  return `${names.slice(0, namedMax).join(', ')}${more}`;
}

/** An older service does not say whether it reaches the others. */
function checkReach(processes: readonly Process[]): Finding[] {
  const unreached = processes.filter(({ reachable }) => reachable === false);
  if (unreached.length > 0) {
    const named = unreached.map(({ machine, url, fault }) => `${machine} at ${url} (${fault})`);
    return [
      wrong(
        'reach',
        `The process that answers cannot reach the machine ${nameSome(named)}.`,
        'Set PARLEY_NODE_URL of each machine to a URL under which the others reach it: files of its conversations are 503 there otherwise.',
      ),
    ];
  }
  const reached = processes.filter(({ reachable }) => reachable === true).length;
  return reached === 0 ? [] : [ok('reach', `The process that answers can reach the others: ${reached}.`)];
}

/** The machines whose processes have one of these stores. */
function machinesWith(processes: readonly Process[], store: string): string[] {
  return machinesOf(processes.filter(({ snapshot_store: own }) => own === store));
}

const sameStore = 'Set PARLEY_SNAPSHOTS to the same store for all processes, and restart them.';

function checkStores(processes: readonly Process[]): Finding[] {
  const known = processes.filter(({ snapshot_store: store }) => store !== '' && store !== undefined);
  if (machinesOf(known).length < 2) return [];
  const [off, unusable] = [machinesWith(known, 'off'), machinesWith(known, 'unusable')];
  const stores = new Set(known.map(({ snapshot_store: store }) => store)).difference(
    new Set(['off', 'unusable']),
  );
  if (off.length > 0 && stores.size + unusable.length === 0)
    return [
      note(
        'stores',
        'No machine has a snapshot store: changes that were not pushed are lost with a machine.',
        'Set PARLEY_SNAPSHOTS to a store that all machines share; see docs/operations.md.',
      ),
    ];
  const faults = [
    ...(off.length > 0 ? [`PARLEY_SNAPSHOTS is not set on the machine ${nameSome(off)}`] : []),
    ...(unusable.length > 0 ? [`the store cannot be used on the machine ${nameSome(unusable)}`] : []),
    ...(stores.size > 1
      ? ['the machines have different stores, so that they do not find the files of each other']
      : []),
  ];
  if (faults.length === 0) return [ok('stores', 'All machines have the same snapshot store.')];
  return [wrong('stores', `Not all machines have the same snapshot store: ${faults.join('; ')}.`, sameStore)];
}

export function checkCluster({ processes }: Diagnostics): Finding[] {
  return [
    checkWorkers(processes),
    ...checkVersions(processes),
    ...checkReach(processes),
    ...checkStores(processes),
  ];
}
