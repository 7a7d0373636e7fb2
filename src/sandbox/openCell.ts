// A cell that is in use: what is started in it, and the end of all of it at once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bridge } from '../bridge/bridge.ts';
import type { ControlGroups } from './controlGroups.ts';
import { type Entered, type Entry, enter } from './entered.ts';
import type { LaunchRecords } from './orphans.ts';
import type { Cell, Inside, Launch, Network, Sandbox } from './sandbox.ts';

export type { End, Entered } from './entered.ts';

export interface OpenCell {
  readonly inside: Inside;
  /** Where programs inside reach the bridge, and what they must show it; undefined where there is none. */
  readonly bridge: { readonly origin: string; readonly token: string } | undefined;
  /** Rejects where the cell is closed, or the launch cannot be written as a command or started at all. */
  enter(launch: Launch): Promise<Entered>;
  /**
   * Kills whatever is alive in it; nothing can be started any more. Unless it must be `atOnce`, a program that nothing
   * else ends for certain may first end for a moment what it has started.
   */
  close(how?: { readonly atOnce: boolean }): Promise<void>;
}

interface OpenCellOptions {
  readonly sandbox: Sandbox;
  readonly cell: Cell;
  /** The way out. Without one, programs inside have no network where the sandbox can take it away. */
  readonly bridge?: Bridge | undefined;
  /** Absent: there are no limits on memory and processes but those of the sandbox itself. */
  readonly controlGroups?: ControlGroups | undefined;
  /** Absent: nobody ends what is left when this process is killed. */
  readonly records?: LaunchRecords | undefined;
  /** No other cell that says so may live on its workspace: what a worker has left there is ended first. */
  readonly alone?: boolean;
  /** Whether the sandbox may still be used. Checked right before any process is started or killed. */
  readonly isHeld?: () => boolean;
}

interface Way {
  readonly port: number | undefined;
  readonly network: Network;
  close(): Promise<void>;
}

const nothingToClose = async () => {};

/** Where the bridge is reached from inside. The path of a socket must be short, so it is not in the data folder. */
async function openWay({ bridgeWay, bridgePort }: Sandbox, bridge: Bridge | undefined): Promise<Way> {
  if (bridge === undefined) return { port: undefined, network: 'none', close: nothingToClose };
  if (bridgeWay === 'handover') return { port: bridgePort, network: 'bridge', close: nothingToClose };
  if (bridgeWay === 'loopback')
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

/** Rejects where the system refuses a control group or a socket; then nothing is left but the bridge. */
export async function openCell(options: OpenCellOptions): Promise<OpenCell> {
  const { sandbox, cell, bridge, controlGroups, records, alone = false, isHeld = () => true } = options;
  if (alone) await records?.endAlone(cell.workspace, isHeld);
  // An engine for containers sets the limits itself; what we start is only its client.
  const group = sandbox.kind === 'docker' ? undefined : controlGroups?.create(cell);
  const memoryHolds = sandbox.kind === 'docker' || controlGroups?.holds.memory === true;
  const way = await openWay(sandbox, bridge).catch(async (error: unknown) => {
    await group?.end();
    throw error;
  });
  const living = new Set<Entry>();
  let closed = false;

  async function enterCell(launch: Launch): Promise<Entered> {
    if (closed || !isHeld()) throw new Error('the cell is closed');
    const entry = enter({
      wrapped: sandbox.wrap(
        cell,
        memoryHolds ? { ...launch, limitAddressSpace: false } : launch,
        launch.offline ? 'none' : way.network,
      ),
      group: group?.enter(),
      records,
      alone: alone ? cell.workspace : null,
      handover: sandbox.bridgeWay === 'handover' && !launch.offline ? bridge : undefined,
    });
    living.add(entry);
    const leave = () => living.delete(entry);
    entry.entered.then(({ ended }) => ended.then(leave), leave);
    return entry.entered;
  }

  return {
    inside: sandbox.inside(cell),
    bridge:
      bridge === undefined ? undefined : { origin: `http://127.0.0.1:${way.port}`, token: bridge.token },
    enter: enterCell,
    close: async ({ atOnce } = { atOnce: false }) => {
      closed = true;
      await Promise.all([...living].map((entry) => entry.kill(!atOnce)));
      await group?.end();
      await way.close();
    },
  };
}
