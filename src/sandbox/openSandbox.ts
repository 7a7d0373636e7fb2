// An open sandbox: starts processes in it, and ends all of them at once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bridge } from '../bridge/bridge.ts';
import type { Cgroups } from './cgroups.ts';
import type { ProcessRecords } from './processRecords.ts';
import {
  type HostEngine,
  isRemote,
  type Network,
  type OpenSandbox,
  type SandboxEngine,
  type SandboxNeeds,
  type SandboxProcess,
  type SandboxProgram,
  type SandboxStart,
} from './sandbox.ts';
import { type StartedProcess, startProcess } from './sandboxProcess.ts';

export type { OnSandboxStart, OpenSandbox, ProcessEnd, SandboxProcess } from './sandbox.ts';

interface HostNeeds extends SandboxNeeds {
  readonly engine: HostEngine;
  /** Without them, only the engine itself limits memory and processes. */
  readonly cgroups?: Cgroups | undefined;
  /** Without them, nobody ends the processes that are left if this process is killed. */
  readonly records?: ProcessRecords | undefined;
}

type OpenSandboxOptions = Omit<HostNeeds, 'engine'> & { readonly engine: SandboxEngine };

interface BridgeConnectionInUse {
  readonly port: number | undefined;
  readonly network: Network;
  close(): Promise<void>;
}

const nothingToClose = async () => {};

/** Opens the connection to the bridge. The path of a socket must be short, so it is not in the data folder. */
async function openBridgeConnection(
  { bridgeConnection, bridgePort }: HostEngine,
  bridge: Bridge | undefined,
): Promise<BridgeConnectionInUse> {
  if (bridge === undefined) return { port: undefined, network: 'none', close: nothingToClose };
  if (bridgeConnection === 'handover') return { port: bridgePort, network: 'bridge', close: nothingToClose };
  if (bridgeConnection === 'loopback')
    return { port: await bridge.listen(), network: 'bridge', close: nothingToClose };
  const folder = await mkdtemp(join(tmpdir(), 'parley-'));
  const socket = join(folder, 'bridge.sock');
  const close = () => rm(folder, { recursive: true, force: true });
  try {
    await bridge.listenAt(socket);
  } catch (error) {
    await close();
    throw error;
  }
  return { port: bridgePort, network: { socket }, close };
}

/** Rejects if the system refuses a cgroup or a socket, or the cluster a pod. Only the bridge is left open then. */
export async function openSandbox({ engine, ...options }: OpenSandboxOptions): Promise<OpenSandbox> {
  return isRemote(engine) ? engine.open(options) : openOnHost({ engine, ...options });
}

async function openOnHost(options: HostNeeds): Promise<OpenSandbox> {
  const { engine, spec, bridge, cgroups, records, exclusive = false, isHeld = () => true } = options;
  if (exclusive) await records?.endExclusive(spec.workspace, isHeld);
  // A container engine sets the limits itself. What we start is only its client.
  const cgroup = engine.kind === 'docker' ? undefined : cgroups?.create(spec);
  const memoryHolds = engine.kind === 'docker' || cgroups?.holds.memory === true;
  const way = await openBridgeConnection(engine, bridge).catch(async (error: unknown) => {
    await cgroup?.end();
    throw error;
  });
  const living = new Set<StartedProcess>();
  let closed = false;
  let closing: Promise<void> | undefined;

  async function startInside(program: SandboxProgram): Promise<SandboxProcess> {
    if (closed || !isHeld()) throw new Error('the sandbox is closed');
    const since = performance.now();
    const entry = startProcess({
      wrapped: engine.wrap(
        spec,
        memoryHolds ? { ...program, limitAddressSpace: false } : program,
        program.offline ? 'none' : way.network,
      ),
      cgroup: cgroup?.createForProcess(),
      records,
      exclusiveWorkspace: exclusive ? spec.workspace : null,
      handover: engine.bridgeConnection === 'handover' && !program.offline ? bridge : undefined,
    });
    living.add(entry);
    const leave = () => living.delete(entry);
    const report = (outcome: SandboxStart['outcome']) =>
      options.onStart?.({ engine: engine.kind, outcome, ms: performance.now() - since });
    entry.process.then(
      ({ ended }) => {
        report('started');
        ended.then(leave);
      },
      () => {
        report('failed');
        leave();
      },
    );
    return entry.process;
  }

  async function endAll(atOnce: boolean): Promise<void> {
    await Promise.all([...living].map((entry) => entry.kill(!atOnce)));
    await cgroup?.end();
    await way.close();
  }

  return {
    paths: engine.paths(spec),
    bridge:
      bridge === undefined ? undefined : { origin: `http://127.0.0.1:${way.port}`, token: bridge.token },
    start: startInside,
    pids: () => [...new Set([...[...living].flatMap((one) => one.pids()), ...(cgroup?.pids() ?? [])])],
    close: ({ atOnce = false } = {}) => {
      closed = true;
      closing ??= endAll(atOnce);
      return closing;
    },
  };
}
