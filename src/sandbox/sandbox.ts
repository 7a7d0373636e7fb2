// The interface of sandboxes: an engine of this machine rewrites a command so that it runs confined; one of a cluster
// opens a sandbox elsewhere.
import type { Readable, Writable } from 'node:stream';
import type { Bridge } from '../bridge/bridge.ts';

export type SandboxKind = 'bubblewrap' | 'docker' | 'kubernetes' | 'process';

/** What one run, or one inspection of a workspace, is confined to. Paths are paths of the host. */
export interface SandboxSpec {
  /** Unique among all open sandboxes; names containers and cgroups. */
  readonly name: string;
  /** Writable inside. */
  readonly workspace: string;
  /** Paths in the workspace that cannot be changed inside. Only bubblewrap supports them. */
  readonly readOnly?: readonly string[];
  /** Writable inside, and kept between runs. */
  readonly home: string;
  /** Files and folders of the host that can be read inside under the same path, such as the programs of an agent. */
  readonly readable: readonly string[];
  /** Scales the limits on memory and processes; 1 is the default. */
  readonly resourceFactor: number;
  /** The container image; null for the default. */
  readonly image: string | null;
  /** The conversation that it belongs to, if there is one. */
  readonly conversation?: SandboxConversation | undefined;
}

export interface SandboxConversation {
  /** Its key in the database. */
  readonly key: number;
  readonly userId: number;
  readonly id: string;
}

/** A program to start in a sandbox. */
export interface SandboxProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Its whole environment, except for what the sandbox itself adds. It never appears in an argv. */
  readonly env: Readonly<Record<string, string>>;
  /** A path inside the sandbox; the workspace by default. */
  readonly cwd?: string;
  /** A folder inside the sandbox that comes first in its PATH. */
  readonly programs?: string;
  /** The program needs no network, and starts faster without. */
  readonly offline?: boolean;
  /**
   * Its address space is limited where no cgroup limits memory. Not for programs that reserve more than they use, as
   * V8 does.
   */
  readonly limitAddressSpace?: boolean;
}

/** Paths inside the sandbox. */
export interface SandboxPaths {
  readonly workspace: string;
  readonly home: string;
}

/** A command on the host. */
export interface HostCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The command to start on the host. */
export interface WrappedCommand extends HostCommand {
  readonly cwd?: string;
  /** A command that ends it reliably, if killing the started process does not. */
  readonly end?: HostCommand;
  /** No namespace or container holds its child processes, so they have to be searched for. */
  readonly childrenMayEscape?: true;
  /** The seccomp filter for the program, which the command reads from `filterDescriptor`. */
  readonly filter?: Buffer;
}

/** Descriptor 3 is the channel to the service. The entry script closes both before the agent starts. */
export const filterDescriptor = 4;

/**
 * How programs inside reach the bridge: over a listener that `inside.ts` opens in the sandbox and hands out, over a
 * socket of the host that it forwards to, or over the loopback interface that they share with the host.
 */
export type BridgeConnection = 'handover' | 'socket' | 'loopback';

/** The network of a process; `socket` is the path of the bridge's socket on the host. */
export type Network = 'none' | 'bridge' | { readonly socket: string };

/** Runs programs on this machine. */
export interface HostEngine {
  readonly kind: Exclude<SandboxKind, 'kubernetes'>;
  readonly bridgeConnection: BridgeConnection;
  /** The port of the bridge inside; undefined if it is the port on the host. */
  readonly bridgePort: number | undefined;
  paths(spec: SandboxSpec): SandboxPaths;
  /** Throws if the name of a variable is not valid. */
  wrap(spec: SandboxSpec, program: SandboxProgram, network: Network): WrappedCommand;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running program in a sandbox. */
export interface SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Never rejects. Settles when all its processes have ended or cannot be killed. A program that could not be started
   * ends with code 127.
   */
  readonly ended: Promise<ProcessEnd>;
  /** Kills it and all descendants. Never rejects. Settles when they are gone or could not be killed in time. */
  kill(): Promise<void>;
}

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
   * gets a moment to end them itself. A sandbox on another machine takes its files with it, unless they are on a volume
   * or `keepFiles` is set: they then stay until it is closed again.
   */
  close(how?: CloseOptions): Promise<void>;
  /** Where its workspace and home are, if they may outlive it. Undefined if they are folders of this machine. */
  readonly files?: SandboxFiles | undefined;
  /** Resolves if the sandbox was on another machine and is lost. */
  readonly lost?: Promise<SandboxLoss>;
}

/** The next sandbox of the same conversation may have the same, if a volume has them, or if its worker was lost. */
export interface SandboxFiles {
  /** No others ever have the same one. */
  readonly id: string;
  /** They were created for this sandbox. Otherwise they may be those of an earlier one. */
  readonly areNew: boolean;
  /** They are on a volume, which limits their size. */
  readonly isVolume: boolean;
}

export interface SandboxLoss {
  readonly sentence: string;
  /** Whether another one would have the same end, as if the programs in it were the cause. */
  readonly isOwnFault: boolean;
}

interface CloseOptions {
  readonly atOnce?: boolean;
  readonly keepFiles?: boolean;
}

/** How a program was started. */
export interface SandboxStart {
  readonly engine: SandboxKind;
  readonly outcome: 'started' | 'failed';
  readonly ms: number;
}

export type OnSandboxStart = (start: SandboxStart) => void;

/** What all engines need for a sandbox. */
export interface SandboxNeeds {
  readonly spec: SandboxSpec;
  /** The only way out. Without it, programs have no network if the engine can take it away. */
  readonly bridge?: Bridge | undefined;
  /** Called whenever the start of a program has succeeded or failed. */
  readonly onStart?: OnSandboxStart | undefined;
  /** Ends processes that an earlier exclusive sandbox has left on this workspace. */
  readonly exclusive?: boolean;
  /** Whether the sandbox may still be used. Checked right before any process is started or killed. */
  readonly isHeld?: () => boolean;
}

/** Runs programs on another machine, where the workspace and the home are, too. Paths of this one only name them. */
export interface RemoteEngine {
  readonly kind: 'kubernetes';
  paths(spec: SandboxSpec): SandboxPaths;
  /** Throws an error with a sentence, without its full stop, if there is no sandbox to be had. */
  open(needs: SandboxNeeds): Promise<OpenSandbox>;
  /** Another sandbox where this process has one open for the same workspace; undefined if it has none. */
  join(spec: SandboxSpec): OpenSandbox | undefined;
  /**
   * Removes sandboxes of processes that are not alive any more. `findActive` returns which of these conversations have a
   * run or will have one: that goes on in the sandbox or removes it. Without it, none has.
   */
  removeOrphans(alive: ReadonlySet<string>, findActive?: FindActive): Promise<void>;
  /** Undefined if files go with their sandbox. */
  readonly volumes?: SandboxVolumes | undefined;
}

export type FindActive = (keys: readonly number[]) => Promise<ReadonlySet<number>>;

/** The volumes of conversations, by the keys of these. */
export interface SandboxVolumes {
  list(): Promise<readonly number[]>;
  /** Removes those that the last list has found. Returns false if there are none. */
  remove(key: number): Promise<boolean>;
}

export type SandboxEngine = HostEngine | RemoteEngine;

export function isRemote(engine: SandboxEngine): engine is RemoteEngine {
  return engine.kind === 'kubernetes';
}
