// What a sandbox is to the rest: a way to write a command so that it runs confined. Argv in, argv out.

export type SandboxKind = 'bubblewrap' | 'docker' | 'process';

/** What one run, or one look at a workspace, is confined to. Paths are those of the host. */
export interface SandboxSpec {
  /** Unique among all that live; names containers and control groups. */
  readonly name: string;
  /** Writable inside. */
  readonly workspace: string;
  /** Writable inside, and kept from run to run. */
  readonly home: string;
  /** Files and folders of the host that can be read inside under the same path: the programs of an agent. */
  readonly readable: readonly string[];
  /** Scales the limits of memory and processes; 1 is the usual. */
  readonly resourceFactor: number;
  /** The image of a container; null for the usual one. */
  readonly image: string | null;
}

/** A program to start inside. */
export interface SandboxProgram {
  readonly argv: readonly [program: string, ...args: string[]];
  /** All that it gets of an environment, beside what the sandbox itself needs. Never part of an argv. */
  readonly env: Readonly<Record<string, string>>;
  /** As seen from inside; the workspace where absent. */
  readonly cwd?: string;
  /** It needs no network, and starts sooner without. */
  readonly offline?: boolean;
  /**
   * Its address space is limited where no cgroup limits memory. Not for programs that reserve more than they use, as
   * V8 does.
   */
  readonly limitAddressSpace?: boolean;
}

/** The sandbox as seen from inside. */
export interface SandboxPaths {
  readonly workspace: string;
  readonly home: string;
}

/** A command of the host. */
export interface HostCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What to start on the host. */
export interface WrappedCommand extends HostCommand {
  readonly cwd?: string;
  /** What ends it for certain, where killing what was started does not. */
  readonly end?: HostCommand;
  /** Nothing holds together what it starts: that has to be looked for. */
  readonly childrenMayEscape?: true;
  /** A seccomp filter for the program inside, which the command reads from `filterDescriptor`. */
  readonly filter?: Buffer;
}

/** Descriptor 3 is the channel to the service. The entry program closes both before the agent starts. */
export const filterDescriptor = 4;

/**
 * How programs inside get to the bridge: over a listener that the program `inside.ts` opens in there and hands out,
 * over a socket of the host to which it forwards, or on the loopback of the host, which they share.
 */
export type BridgeConnection = 'handover' | 'socket' | 'loopback';

/** What a process has of a network; `socket` is the path of the bridge's on the host. */
export type Network = 'none' | 'bridge' | { readonly socket: string };

export interface SandboxEngine {
  readonly kind: SandboxKind;
  readonly bridgeConnection: BridgeConnection;
  /** The port on which programs inside find the bridge. Undefined: the one on which it listens on the host. */
  readonly bridgePort: number | undefined;
  paths(spec: SandboxSpec): SandboxPaths;
  /** Throws where a name in the environment cannot be passed on. */
  wrap(spec: SandboxSpec, program: SandboxProgram, network: Network): WrappedCommand;
}
