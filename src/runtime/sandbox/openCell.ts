// A cell that is in use: what is started in it, and the end of all of it at once.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Server } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { Bridge } from '../bridge/bridge.ts';
import type { Cell, Inside, Launch, Sandbox } from './sandbox.ts';

export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that was started in a cell. */
export interface Entered {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. A program that could not be started ends with code 127. */
  readonly ended: Promise<End>;
  /** Kills it and all that it started. Settles when it is gone. */
  kill(): Promise<void>;
}

export interface OpenCell {
  readonly inside: Inside;
  /** Where programs inside reach the bridge, and what they must show it; undefined where there is none. */
  readonly bridge: { readonly origin: string; readonly token: string } | undefined;
  enter(launch: Launch): Promise<Entered>;
  /** Kills whatever is alive in it; nothing can be started any more. */
  close(): Promise<void>;
}

interface OpenCellOptions {
  readonly sandbox: Sandbox;
  readonly cell: Cell;
  /** The way out. Without one, programs inside have no network where the sandbox can take it away. */
  readonly bridge?: Bridge;
}

const couldNotStart = 127;

/** Waits for the listener of the program `inside.ts`, which goes on to the real program once it is answered. */
function takeListener(child: ChildProcess, bridge: Bridge): Promise<void> {
  return new Promise((resolve) => {
    child.once('message', (_, listener) => {
      bridge.take(listener as Server);
      child.send('go', () => resolve());
    });
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', () => resolve({ code: couldNotStart, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

export async function openCell({ sandbox, cell, bridge }: OpenCellOptions): Promise<OpenCell> {
  const living = new Set<Entered>();
  let closed = false;
  const ownNetwork = sandbox.bridgePort !== undefined;
  const port = sandbox.bridgePort ?? (await bridge?.listen());

  async function enter(launch: Launch): Promise<Entered> {
    if (closed) throw new Error('the cell is closed');
    const handsOver = bridge !== undefined && ownNetwork;
    const wrapped = sandbox.wrap(cell, launch, bridge === undefined ? 'none' : 'bridge');
    const child = spawn(wrapped.command, wrapped.args, {
      env: wrapped.env,
      cwd: wrapped.cwd,
      // A group of its own, which dies as one.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', ...(handsOver ? (['ipc'] as const) : [])],
    });
    const ended = endOf(child);
    const { stdin, stdout, stderr } = child as ChildProcess & Pick<Entered, 'stdin' | 'stdout' | 'stderr'>;
    stdin.on('error', () => {
      // It no longer reads; `ended` tells.
    });
    const entered: Entered = {
      stdin,
      stdout,
      stderr,
      ended,
      kill: async () => {
        killGroup(child);
        await ended;
      },
    };
    living.add(entered);
    void ended.then(() => {
      // Whatever it left behind.
      killGroup(child);
      living.delete(entered);
    });
    if (handsOver) await takeListener(child, bridge);
    return entered;
  }

  return {
    inside: sandbox.inside(cell),
    bridge: bridge === undefined ? undefined : { origin: `http://127.0.0.1:${port}`, token: bridge.token },
    enter,
    close: async () => {
      closed = true;
      await Promise.all([...living].map((entered) => entered.kill()));
    },
  };
}
