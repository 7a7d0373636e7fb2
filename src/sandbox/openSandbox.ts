// An open sandbox: starts processes in it, and ends all of them at once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bridge } from '../bridge/bridge.ts';
import type { Cgroups } from './cgroups.ts';
import type { ProcessRecords } from './processRecords.ts';
import type { Network, SandboxEngine, SandboxPaths, SandboxProgram, SandboxSpec } from './sandbox.ts';
import { type SandboxProcess, type StartedProcess, startProcess } from './sandboxProcess.ts';

export type { ProcessEnd, SandboxProcess } from './sandboxProcess.ts';

export interface OpenSandbox {
  readonly paths: SandboxPaths;
  /** The URL of the bridge inside, and its token; undefined if there is no bridge. */
  readonly bridge: { readonly origin: string; readonly token: string } | undefined;
  /** Rejects if the sandbox is closed or the program cannot be started. */
  start(program: SandboxProgram): Promise<SandboxProcess>;
  /** The processes that are alive in it, as far as this machine can tell: those of containers are the engine's. */
  pids(): number[];
  /**
   * Kills all processes; nothing can be started afterwards. Unless `atOnce` is set, a program whose children may escape
   * gets a moment to end them itself.
   */
  close(how?: { readonly atOnce: boolean }): Promise<void>;
}

export type OnSandboxStart = (start: SandboxStart) => void;

/** How a program was started. */
interface SandboxStart {
  readonly engine: SandboxEngine['kind'];
  readonly outcome: 'started' | 'failed';
  readonly ms: number;
}

interface OpenSandboxOptions {
  readonly engine: SandboxEngine;
  readonly spec: SandboxSpec;
  /** The only way out. Without it, programs have no network if the engine can take it away. */
  readonly bridge?: Bridge | undefined;
  /** Without them, only the engine itself limits memory and processes. */
  readonly cgroups?: Cgroups | undefined;
  /** Without them, nobody ends the processes that are left if this process is killed. */
  readonly records?: ProcessRecords | undefined;
  /** Called whenever the start of a program has succeeded or failed. */
  readonly onStart?: OnSandboxStart | undefined;
  /** Ends processes that an earlier exclusive sandbox has left on this workspace. */
  readonly exclusive?: boolean;
  /** Whether the sandbox may still be used. Checked right before any process is started or killed. */
  readonly isHeld?: () => boolean;
}

interface BridgeConnectionInUse {
  readonly port: number | undefined;
  readonly network: Network;
  close(): Promise<void>;
}

const nothingToClose = async () => {};

/** Opens the connection to the bridge. The path of a socket must be short, so it is not in the data folder. */
async function openBridgeConnection(
  { bridgeConnection, bridgePort }: SandboxEngine,
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

/** Rejects if the system refuses a cgroup or a socket. Only the bridge is left open then. */
export async function openSandbox(options: OpenSandboxOptions): Promise<OpenSandbox> {
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

  return {
    paths: engine.paths(spec),
    bridge:
      bridge === undefined ? undefined : { origin: `http://127.0.0.1:${way.port}`, token: bridge.token },
    start: startInside,
    pids: () => [...new Set([...[...living].flatMap((one) => one.pids()), ...(cgroup?.pids() ?? [])])],
    close: async ({ atOnce } = { atOnce: false }) => {
      closed = true;
      await Promise.all([...living].map((entry) => entry.kill(!atOnce)));
      await cgroup?.end();
      await way.close();
    },
  };
}
